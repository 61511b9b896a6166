//! `git oracle demo`.

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::demo;

/// Show the gate at work in a scratch repository
///
/// Uses real git and this very program, touches nothing of yours, and removes what it made.
#[derive(clap::Args, Debug)]
pub(super) struct DemoArgs {}

pub(super) fn demo(app: &App, _: &DemoArgs) -> Result<Exit, Failure> {
    let stage = demo::Stage::build(&app.flows)?;
    stage.play(&mut |scene| {
        render::out(format!("# {}", scene.story));
        render::out(format!("$ {}", scene.command));
        scene.output.lines().for_each(|line| render::out(visible(line)));
        if scene.code != 0 {
            render::out(format!("(exit code {})", scene.code));
        }
        render::out("");
    })?;
    render::out("Now in a repository of yours: git oracle init");
    Ok(Exit::Success)
}
