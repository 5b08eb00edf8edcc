//! Content handler of a location with `echo*`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::{ContentResponse, Exchange, Handler, PhaseStep, media_type_of};
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::responses::redirect::local_redirect_to;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_exchange::subrequest;
use myriad_script::Template;

use super::body::EchoBody;
use super::command::{CommandFailed, EchoCommand, duration_ms, line, value};
use super::settings::EchoSettings;

impl PlannedHandler for EchoSettings {
    fn make(&self, compile: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        let commands = self.commands.iter().map(|command| EchoCommand::compile(command, compile)).collect();
        Some(Box::new(EchoHandler { commands, status: self.status.unwrap_or(200) }))
    }
}

struct EchoHandler {
    commands: Arc<[EchoCommand]>,
    status: u16,
}

impl Handler for EchoHandler {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        if self.commands.iter().any(|command| matches!(command, EchoCommand::Exec(..))) {
            let commands = Arc::clone(&self.commands);
            return PhaseStep::wait(async move |exchange: &mut Exchange| {
                run_leading_commands(exchange, &commands).await
            });
        }
        let body = match self.text(exchange) {
            Some(Ok(text)) => ResponseBody::Full(Bytes::from(text)),
            Some(Err(CommandFailed)) => return PhaseStep::Error(500),
            None => {
                let body = EchoBody::new(exchange.body_companion(), Arc::clone(&self.commands));
                ResponseBody::Stream(Box::pin(body), None)
            }
        };
        let mut answer = ContentResponse::new(self.status, body);
        answer.media_type = Some(media_type_of(&exchange.request, &exchange.request.route.uri));
        answer.compressible = true;
        PhaseStep::Answer(answer)
    }
}

impl EchoHandler {
    /// Returns the complete text if all commands are lines; `Some(Err)` if a value in it cannot be evaluated, and
    /// `None` if there are other commands.
    fn text(&self, exchange: &mut Exchange) -> Option<Result<Vec<u8>, CommandFailed>> {
        if !self.commands.iter().all(|command| matches!(command, EchoCommand::Line(..))) {
            return None;
        }
        let mut text = Vec::new();
        for command in &*self.commands {
            if let EchoCommand::Line(words, newline) = command
                && line(exchange, words, *newline, &mut text).is_err()
            {
                return Some(Err(CommandFailed));
            }
        }
        Some(Ok(text))
    }
}

/// Executes delays up to `echo_exec`, then redirects. Commands that produce output cannot precede it. Returns 500 if
/// a command fails.
async fn run_leading_commands(exchange: &mut Exchange, commands: &[EchoCommand]) -> PhaseStep {
    for command in commands {
        match command {
            EchoCommand::Sleep(seconds) => match duration_ms(exchange, seconds) {
                Ok(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Err(CommandFailed) => return PhaseStep::Error(500),
            },
            EchoCommand::Exec(uri, args) => {
                return exec(exchange, uri, args).unwrap_or(PhaseStep::Error(500));
            }
            _ => {}
        }
    }
    PhaseStep::Error(500)
}

fn exec(exchange: &mut Exchange, uri: &Template, args: &Template) -> Result<PhaseStep, CommandFailed> {
    let (uri, given) = (value(exchange, uri)?, value(exchange, args)?);
    exchange.request.shortcut.depends_on_more.set(true);
    if uri.starts_with(b"@") {
        return Ok(PhaseStep::Named(uri.into()));
    }
    let Some((path, args)) = subrequest::target(&uri) else {
        let uri = uri.escape_ascii();
        exchange.request.log(LogLevel::Error, format_args!("echo_exec to an unsafe path \"{uri}\""));
        return Err(CommandFailed);
    };
    let args = if given.is_empty() { args.to_vec() } else { given };
    local_redirect_to(&mut exchange.request, &path, &args);
    Ok(PhaseStep::Redirect)
}
