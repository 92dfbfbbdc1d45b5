#compdef dwell
# zsh completion of dwell; written by `dwell completion zsh`
_dwell() {
	local line value help files directories
	local -a lines values shown space
	local -i first=-1

	lines=("${(@f)$(command dwell completion --words zsh "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
	for line in "${lines[@]}"; do
		case $line in
		'') ;;
		$'\t'files) files=1 ;;
		$'\t'directories) directories=1 ;;
		$'\t'nospace) space=(-S '') ;;
		$'\t'command\ *) first=${line##* } ;;
		*)
			value=${line%%$'\t'*} help=${line#*$'\t'}
			values+=("$value")
			shown+=("$value${help:+  -- $help}")
			;;
		esac
	done
	if ((first >= 0)); then
		# another program's words
		shift $first words
		((CURRENT -= first))
		_normal
		return
	fi
	((${#values})) && compadd -l "${space[@]}" -d shown -a values
	if [[ -n $files$directories ]]; then
		compset -P '--[^=]#='
		_files ${directories:+-/}
	fi
	((${#values})) || [[ -n $files$directories ]]
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_dwell "$@"
else
	compdef _dwell dwell
fi
