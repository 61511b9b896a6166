//! `git oracle demo`.

use std::time::Instant;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::demo;

/// Show the whole story in a scratch repository
///
/// A contract, a refused commit, and a review in a real browser on a chat page of our own: judged hunk by hunk, asked again,
/// tested, committed and pushed to a local remote. Uses real git and this very program, talks to nobody but this machine,
/// touches nothing of yours, and removes what it made; the page about the review and a picture stay in ~/.oracle/demo.
#[derive(clap::Args, Debug)]
pub(super) struct DemoArgs {}

pub(super) fn demo(app: &App, _: &DemoArgs) -> Result<Exit, Failure> {
    let began = Instant::now();
    let stage = demo::Stage::build(&app.flows)?;
    let shows = !app.quiet && terminal::is_attended();
    let kept = stage.play(
        &mut |scene| {
            render::out(format!("# {}", scene.story));
            render::command(&scene.command());
        },
        &mut |state| {
            if shows {
                render::progress(state);
            }
        },
        &mut |_, ended| {
            if shows {
                render::end_progress();
            }
            ended.output.lines().for_each(|line| render::out(visible(line)));
            if ended.code != 0 {
                render::out(format!("(exit code {})", ended.code));
            }
            render::out("");
        },
    )?;
    render::out(format!("That took {} s. What stays to look at:", began.elapsed().as_secs()));
    kept.iter().for_each(|path| render::out(format!("  {}", visible(&path.display().to_string()))));
    render::out("Now in a repository of yours: git oracle init");
    Ok(Exit::Success)
}
