//! Response that is generated while it is sent: lines, delays, responses to subrequests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::subrequest;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_log::Level;

use super::command::{Command, Failed, count, duration_ms, line, value};

/// Number of bytes of repeated text that are generated at a time.
const PIECE: usize = 16 << 10;

/// ```text
/// Next --echo_sleep--> Wait --> Next
/// Next --echo_duplicate--> Repeat --> Next
/// Next --echo_location--> Wait --> Answered --> Next
/// ```
enum State {
    /// Execute the next command.
    Next,
    /// Text that is sent for the remaining number of times.
    Repeat(Bytes, u64),
    /// Delay or subrequest, which may yield a body.
    Wait(Pin<Box<dyn Future<Output = Option<BoxBody>>>>),
    /// Response to a subrequest.
    Answered(BoxBody),
    Over,
}

/// Commands that are executed while the response is read.
pub(super) struct EchoBody {
    /// Copy with the lifetime of the body.
    exchange: Box<Exchange>,
    commands: Arc<[Command]>,
    next: usize,
    state: State,
}

impl EchoBody {
    pub(super) fn new(exchange: Box<Exchange>, commands: Arc<[Command]>) -> Self {
        Self { exchange, commands, next: 0, state: State::Next }
    }

    /// Executes the next command. Output that is available at once is returned.
    fn run(&mut self) -> Result<Option<Vec<u8>>, Failed> {
        let commands = Arc::clone(&self.commands);
        let Some(command) = commands.get(self.next) else {
            self.state = State::Over;
            return Ok(None);
        };
        self.next += 1;
        let exchange = &mut *self.exchange;
        match command {
            Command::Line(words, newline) => {
                let mut text = Vec::new();
                line(exchange, words, *newline, &mut text)?;
                return Ok(Some(text));
            }
            Command::Duplicate(times, text) => {
                let times = count(exchange, times)?;
                self.state = State::Repeat(value(exchange, text)?.into(), times);
            }
            Command::Sleep(seconds) => {
                let wait = tokio::time::sleep(Duration::from_millis(duration_ms(exchange, seconds)?));
                self.state = State::Wait(Box::pin(async move {
                    wait.await;
                    None
                }));
            }
            Command::ResetTimer => exchange.request.received.at_ms = myriad_net::clock::now_ms(),
            Command::Location(uri, args) => {
                let (uri, args) = (value(exchange, uri)?, value(exchange, args)?);
                self.ask(&uri, &args)?;
            }
            // Not reachable: such a command redirects before anything is sent.
            Command::Exec(..) => return Err(Failed),
        }
        Ok(None)
    }

    fn ask(&mut self, uri: &[u8], args: &[u8]) -> Result<(), Failed> {
        let Some((path, own)) = subrequest::target(uri) else {
            let uri = uri.escape_ascii();
            let message = format_args!("echo_location sees unsafe uri: \"{uri}\"");
            self.exchange.request.log(Level::Error, message);
            return Err(Failed);
        };
        let args = if args.is_empty() { own } else { args };
        let child = subrequest::begin(&mut self.exchange, &path, args).map_err(|_| Failed)?;
        self.state = State::Wait(Box::pin(async move { Some(subrequest::ask(child).await.into_body()) }));
        Ok(())
    }
}

/// Returns a piece of repeated text, and the number of repetitions in it.
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
                State::Next => match this.run() {
                    Ok(Some(text)) if !text.is_empty() => return Poll::Ready(Some(Ok(text.into()))),
                    Ok(_) => {}
                    Err(Failed) => {
                        this.state = State::Over;
                        return Poll::Ready(Some(Err(BodyError::Aborted)));
                    }
                },
                State::Repeat(_, 0) => this.state = State::Next,
                State::Repeat(text, _) if text.is_empty() => this.state = State::Next,
                State::Repeat(text, left) => {
                    let (piece, times) = piece(text, *left);
                    *left -= times;
                    return Poll::Ready(Some(Ok(piece)));
                }
                State::Wait(wait) => {
                    this.state = ready!(wait.as_mut().poll(cx)).map_or(State::Next, State::Answered);
                }
                State::Answered(body) => match ready!(body.as_mut().poll_data(cx)) {
                    Some(Ok(piece)) if piece.is_empty() => {}
                    Some(Ok(piece)) => return Poll::Ready(Some(Ok(piece))),
                    Some(Err(error)) => {
                        this.state = State::Over;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => this.state = State::Next,
                },
                State::Over => return Poll::Ready(None),
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
