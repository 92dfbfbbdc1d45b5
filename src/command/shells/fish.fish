# fish completion of dwell; written by `dwell completion fish`
function __dwell_offers
	set -l token (commandline -ct)
	set -l words (commandline -opc)
	# an open quote is not part of the word
	set -l word (string unescape -- $token; or string replace -r '^["\']' '' -- $token)
	set -l option (string match -r -- '^--[^=]*=' $token)
	for line in (command dwell completion --words fish $words "$word" 2>/dev/null)
		switch $line
			case \tfiles
				printf '%s\n' "$option"(complete -C "'' "(string replace -- "$option" '' $token))
			case \tdirectories
				printf '%s\n' "$option"(complete -C "'' "(string replace -- "$option" '' $token) | string match -r '.*/(?:\t.*)?$')
			case \t'command *'
				# another program's words
				set -l first (math (string replace -r '.* ' '' -- $line) + 1)
				set -l all $words "$word"
				complete -C (string join ' ' -- (string escape -- $all[$first..-2]) "$token")
			case \tnospace
			case '*'
				printf '%s\n' $line
		end
	end
end
complete -c dwell -f -a '(__dwell_offers)'
