use std::process::ExitCode;

fn main() -> ExitCode {
    git_oracle::cli::run(std::env::args_os()).into()
}
