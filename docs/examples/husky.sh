# Holds commits, merges and pushes to the contract, through husky.
echo 'git oracle hook pre-commit' >> .husky/pre-commit
echo 'git oracle hook pre-merge-commit' >> .husky/pre-merge-commit
echo 'git oracle hook pre-push "$@"' >> .husky/pre-push
