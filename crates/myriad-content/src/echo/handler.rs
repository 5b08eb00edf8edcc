//! Request handler of the directives.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use myriad_log::Level;
use myriad_net::ResponseBody;

use myriad_exchange::answers::redirect::local_redirect_to;
use myriad_exchange::exchange::{Answer, Exchange, Handler, Step, media_type_of};
use myriad_exchange::feature::PlannedHandler;
use myriad_exchange::runtime::SettingsCompiler;
use myriad_exchange::subrequest;
use myriad_script::Template;

use super::body::EchoBody;
use super::command::{Command, Failed, duration_ms, line, value};
use super::settings::EchoSettings;

impl PlannedHandler for EchoSettings {
    fn make(&self, compile: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        let commands = self.commands.iter().map(|command| Command::compile(command, compile)).collect();
        Some(Box::new(Echo { commands, status: self.status.unwrap_or(200) }))
    }
}

struct Echo {
    commands: Arc<[Command]>,
    status: u16,
}

impl Handler for Echo {
    fn begin(&self, exchange: &mut Exchange) -> Step {
        if self.commands.iter().any(|command| matches!(command, Command::Exec(..))) {
            let commands = Arc::clone(&self.commands);
            return Step::wait(async move |exchange: &mut Exchange| lead(exchange, &commands).await);
        }
        let body = match self.text(exchange) {
            Some(Ok(text)) => ResponseBody::Full(Bytes::from(text)),
            Some(Err(Failed)) => return Step::Error(500),
            None => {
                let body = EchoBody::new(exchange.companion(), Arc::clone(&self.commands));
                ResponseBody::Stream(Box::pin(body), None)
            }
        };
        let mut answer = Answer::new(self.status, body);
        answer.media_type = Some(media_type_of(&exchange.request, &exchange.request.route.uri));
        answer.compressible = true;
        Step::Answer(answer)
    }
}

impl Echo {
    /// Returns the complete response if it only consists of lines.
    fn text(&self, exchange: &mut Exchange) -> Option<Result<Vec<u8>, Failed>> {
        if !self.commands.iter().all(|command| matches!(command, Command::Line(..))) {
            return None;
        }
        let mut text = Vec::new();
        for command in &*self.commands {
            if let Command::Line(words, newline) = command
                && line(exchange, words, *newline, &mut text).is_err()
            {
                return Some(Err(Failed));
            }
        }
        Some(Ok(text))
    }
}

/// Executes delays, and redirects with `echo_exec`. No output precedes this command.
async fn lead(exchange: &mut Exchange, commands: &[Command]) -> Step {
    for command in commands {
        match command {
            Command::Sleep(seconds) => match duration_ms(exchange, seconds) {
                Ok(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Err(Failed) => return Step::Error(500),
            },
            Command::Exec(uri, args) => return exec(exchange, uri, args).unwrap_or(Step::Error(500)),
            _ => {}
        }
    }
    Step::Error(500)
}

fn exec(exchange: &mut Exchange, uri: &Template, args: &Template) -> Result<Step, Failed> {
    let (uri, given) = (value(exchange, uri)?, value(exchange, args)?);
    exchange.request.shortcut.strayed.set(true);
    if uri.starts_with(b"@") {
        return Ok(Step::Named(uri.into()));
    }
    let Some((path, args)) = subrequest::target(&uri) else {
        let uri = uri.escape_ascii();
        exchange.request.log(Level::Error, format_args!("echo_exec to an unsafe path \"{uri}\""));
        return Err(Failed);
    };
    let args = if given.is_empty() { args.to_vec() } else { given };
    local_redirect_to(&mut exchange.request, &path, &args);
    Ok(Step::Redirect)
}
