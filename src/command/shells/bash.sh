# bash completion of dwell; written by `dwell completion bash`
_dwell()
{
	local line word=${COMP_WORDS[COMP_CWORD]}
	local IFS=$' \t\n'

	COMPREPLY=()
	# what splits words is one itself, and stays
	[[ $word == [=:@] ]] && word=
	while IFS= read -r line; do
		case $line in
		$'\tfiles')
			compopt -o filenames 2> /dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
			;;
		$'\tdirectories')
			compopt -o filenames 2> /dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$word")
			;;
		$'\tnospace') compopt -o nospace 2> /dev/null ;;
		$'\tcommand '*)
			# another program's words: bash-completion knows how they are completed
			if declare -F _command_offset > /dev/null; then
				_command_offset "${line##* }"
			elif ((${line##* } == COMP_CWORD)); then
				while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "$word")
			else
				compopt -o filenames 2> /dev/null
				while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
			fi
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <(command dwell completion --words bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2> /dev/null)
}
complete -F _dwell dwell
