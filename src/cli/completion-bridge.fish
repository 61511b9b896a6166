# Completes `git oracle …` as git-oracle would.
complete -c git -n '__fish_seen_subcommand_from oracle' -f -a '(complete -C (string replace -r "^\S+ (.* )?oracle " "git-oracle " -- (commandline -cp)))'
