mkdir -p .claude .github/hooks .github/workflows src/.codex; echo a > .claude/settings.json; echo b > .github/hooks/a.json; echo c > .github/workflows/ci.yml; echo d > src/.codex/config.toml
