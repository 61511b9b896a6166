
complete -F _gitoracle -o bashdefault -o default git-oracle

# git's completion calls this for `git oracle …`: the words from `oracle` on, with the program's name in its place.
_git_oracle() {
    local start
    for ((start = 1; start < COMP_CWORD; start++)); do
        [[ ${COMP_WORDS[start]} == oracle ]] && break
    done
    local last=$((COMP_CWORD - start))
    local COMP_WORDS=(git-oracle "${COMP_WORDS[@]:start+1}") COMP_CWORD=$last
    _gitoracle git-oracle "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}
