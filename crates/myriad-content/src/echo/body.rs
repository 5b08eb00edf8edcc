//! Response body that is generated while it is sent: lines, delays, responses to subrequests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_log::LogLevel;

use super::command::{CommandFailed, EchoCommand, count, duration_ms, line, value};

/// Approximate number of bytes of repeated text that are generated at a time.
const PIECE: usize = 16 << 10;

/// State of an [`EchoBody`].
///
/// ```text
/// Next --echo_sleep--> Wait --> Next
/// Next --echo_duplicate--> Repeat --> Next
/// Next --echo_location--> Wait --> Answered --> Next
/// ```
enum EchoState {
    /// The next command must be executed.
    Next,
    /// Text that is sent repeatedly, and the remaining number of repetitions.
    Repeat(Bytes, u64),
    /// Delay (without a result), or subrequest (with its response body).
    Wait(Pin<Box<dyn Future<Output = Option<BoxBody>>>>),
    /// Response body of a subrequest, which is forwarded.
    Answered(BoxBody),
    Over,
}

/// Response body that executes the commands while it is read.
pub(super) struct EchoBody {
    /// Copy of the exchange that lives as long as the body.
    exchange: Box<Exchange>,
    commands: Arc<[EchoCommand]>,
    next: usize,
    state: EchoState,
}

impl EchoBody {
    pub(super) fn new(exchange: Box<Exchange>, commands: Arc<[EchoCommand]>) -> Self {
        Self { exchange, commands, next: 0, state: EchoState::Next }
    }

    /// Executes the next command. Returns its text if it is available at once. Otherwise returns `None`, with the state
    /// set to what follows: a wait, repeated text, the next command or the end.
    fn run(&mut self) -> Result<Option<Vec<u8>>, CommandFailed> {
        let commands = Arc::clone(&self.commands);
        let Some(command) = commands.get(self.next) else {
            self.state = EchoState::Over;
            return Ok(None);
        };
        self.next += 1;
        let exchange = &mut *self.exchange;
        match command {
            EchoCommand::Line(words, newline) => {
                let mut text = Vec::new();
                line(exchange, words, *newline, &mut text)?;
                return Ok(Some(text));
            }
            EchoCommand::Duplicate(times, text) => {
                let times = count(exchange, times)?;
                self.state = EchoState::Repeat(value(exchange, text)?.into(), times);
            }
            EchoCommand::Sleep(seconds) => {
                let wait = tokio::time::sleep(Duration::from_millis(duration_ms(exchange, seconds)?));
                self.state = EchoState::Wait(Box::pin(async move {
                    wait.await;
                    None
                }));
            }
            EchoCommand::ResetTimer => exchange.request.received.set_time_us(myriad_net::clock::now_us()),
            EchoCommand::Location(uri, args) => {
                let (uri, args) = (value(exchange, uri)?, value(exchange, args)?);
                self.start_subrequest(&uri, &args)?;
            }
            // Not reachable: a location with `echo_exec` redirects before a body is created.
            EchoCommand::Exec(..) => return Err(CommandFailed),
        }
        Ok(None)
    }

    fn start_subrequest(&mut self, uri: &[u8], args: &[u8]) -> Result<(), CommandFailed> {
        let Some((path, own)) = subrequest::target(uri) else {
            let uri = uri.escape_ascii();
            let message = format_args!("echo_location sees unsafe uri: \"{uri}\"");
            self.exchange.request.log(LogLevel::Error, message);
            return Err(CommandFailed);
        };
        let args = if args.is_empty() { own } else { args };
        let child = subrequest::begin(&mut self.exchange, &path, args).map_err(|_| CommandFailed)?;
        self.state =
            EchoState::Wait(Box::pin(async move { Some(subrequest::execute(child).await.into_body()) }));
        Ok(())
    }
}

/// Returns a piece of repeated text, and the number of repetitions in it, at most `left`.
fn piece(text: &Bytes, left: u64) -> (Bytes, u64) {
    let fitting = (PIECE / text.len().max(1)).max(1) as u64;
    let times = fitting.min(left);
    if times == 1 { (text.clone(), 1) } else { (text.repeat(times as usize).into(), times) }
}

impl Body for EchoBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        loop {
            match &mut this.state {
                EchoState::Next => match this.run() {
                    Ok(Some(text)) if !text.is_empty() => return Poll::Ready(Some(Ok(text.into()))),
                    Ok(_) => {}
                    Err(CommandFailed) => {
                        this.state = EchoState::Over;
                        return Poll::Ready(Some(Err(BodyError::Aborted)));
                    }
                },
                EchoState::Repeat(_, 0) => this.state = EchoState::Next,
                EchoState::Repeat(text, _) if text.is_empty() => this.state = EchoState::Next,
                EchoState::Repeat(text, left) => {
                    let (piece, times) = piece(text, *left);
                    *left -= times;
                    return Poll::Ready(Some(Ok(piece)));
                }
                EchoState::Wait(wait) => {
                    this.state = ready!(wait.as_mut().poll(cx)).map_or(EchoState::Next, EchoState::Answered);
                }
                EchoState::Answered(body) => match ready!(body.as_mut().poll_data(cx)) {
                    Some(Ok(piece)) if piece.is_empty() => {}
                    Some(Ok(piece)) => return Poll::Ready(Some(Ok(piece))),
                    Some(Err(error)) => {
                        this.state = EchoState::Over;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => this.state = EchoState::Next,
                },
                EchoState::Over => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_texts_come_in_pieces() {
        let text = Bytes::from_static(b"hello");
        assert_eq!(piece(&text, 2), (Bytes::from_static(b"hellohello"), 2));
        let (long, times) = piece(&text, u64::MAX);
        assert!(long.len() <= PIECE && times == PIECE as u64 / 5);
        let large = Bytes::from(vec![b'x'; PIECE + 1]);
        assert_eq!(piece(&large, 9).1, 1);
    }
}
