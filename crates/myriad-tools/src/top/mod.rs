//! `myriad top`: shows the activity of a running server in a terminal, updated every second.
//!
//! ```text
//! feed: control socket -> live events, ranked pages --channel--> loop -> view: lines of text -> screen: the terminal
//! screen: keys; signals ----------------------------^
//! ```

mod event;
mod feed;
mod format;
mod options;
mod paint;
mod screen;
mod state;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use event::{KeyPress, TopEvent};
use myriad_cli::admin::{CommandOutput, RunningServer, help};
use myriad_cli::signals::Signals;
use myriad_cli::terminal;
use options::TopOptions;
pub use options::USAGE;
use paint::TerminalPaint;
use screen::Screen;
use state::TopState;

/// Maximum delay until a signal or a changed terminal size takes effect.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs `myriad top` with the arguments after its name. The exit status is 0, or 1 after an error.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: top: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = TopOptions::parse(arguments)? else { return Ok(help(options::USAGE)) };
    let running = RunningServer::find(&options.server, options.socket.as_deref())?;
    if options.once {
        once(&running)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !terminal::is_interactive() {
        return Err("standard input and output must be a terminal: use --once for a snapshot (ssh -t HOST myriad top)".to_owned());
    }
    watch(&running)
}

/// Prints one snapshot (`--once`), with the counts of the second live event, because the first may cover an incomplete
/// second.
fn once(running: &RunningServer) -> Result<(), String> {
    let mut state = TopState::default();
    for tick in feed::ticks(running, 2)? {
        state.tick(tick);
    }
    for by in feed::RANKINGS {
        state.ranking(by, feed::ranking(running, by)?);
    }
    let paint = TerminalPaint { has_colors: false, has_unicode: terminal::has_unicode() };
    let mut output = CommandOutput::new();
    for line in view::snapshot(&state, terminal::width(), paint) {
        if !output.line(&line)? {
            break;
        }
    }
    output.finish().map(drop)
}

/// Shows the views until a key or a signal stops the program, or the terminal is closed.
fn watch(running: &RunningServer) -> Result<ExitCode, String> {
    use rustix::process::Signal;

    let signals = Signals::watch(&[Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT])
        .map_err(|error| error.to_string())?;
    // The first response is awaited before the screen is switched, so that an error is printed normally.
    let (sender, events) = mpsc::channel();
    feed::start(running, &sender)?;
    let _screen = Screen::take().map_err(|error| format!("the terminal: {error}"))?;
    screen::keys(sender);
    let paint = TerminalPaint { has_colors: terminal::has_colors(), has_unicode: terminal::has_unicode() };
    let mut state = TopState::default();
    loop {
        let (width, height) = screen::size();
        if screen::draw(&view::screen(&state, (width, height), paint), height).is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        match events.recv_timeout(PATIENCE) {
            Ok(TopEvent::Tick(tick)) => state.tick(*tick),
            Ok(TopEvent::Ranking(by, pages)) => state.ranking(by, pages),
            Ok(TopEvent::Purge(purge)) => state.purge(purge),
            Ok(TopEvent::Broken(why)) => state.broken = Some(why),
            Ok(TopEvent::Connected) => state.broken = None,
            Ok(TopEvent::Key(KeyPress::Quit)) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(ExitCode::SUCCESS);
            }
            Ok(TopEvent::Key(key)) => state.key(key),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !signals.take().is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}
