# The scripts that lefthook.yml names.
mkdir -p .lefthook/pre-commit .lefthook/pre-merge-commit .lefthook/pre-push
echo 'git oracle hook pre-commit' > .lefthook/pre-commit/git-oracle
echo 'git oracle hook pre-merge-commit' > .lefthook/pre-merge-commit/git-oracle
echo 'git oracle hook pre-push "$@"' > .lefthook/pre-push/git-oracle
chmod +x .lefthook/*/git-oracle
