//! What an origin says on the side goes to the error log.

use std::fmt;
use std::rc::Rc;

use myriad_upstream::{Address, OriginError};

use crate::error_log::Level;
use crate::exchange::Exchange;
use crate::runtime::{Handler, PlaceId};
use crate::worker::Generation;

/// Writes to the error log of the exchange that asked.
pub(crate) struct Observer {
    site: Rc<Generation>,
    place: PlaceId,
    connection: u64,
    request: String,
}

impl Observer {
    /// The observer of one exchange's origin request.
    pub(crate) fn of(exchange: &Exchange) -> Rc<dyn myriad_upstream::Observer> {
        let request = &exchange.request;
        Rc::new(Self {
            site: Rc::clone(&request.site),
            place: request.place,
            connection: request.connection.id,
            request: String::from_utf8_lossy(request.head.request_line()).into_owned(),
        })
    }

    fn write(&self, level: Level, message: fmt::Arguments<'_>) {
        let log = &self.site.runtime.place(self.place).error_log;
        log.write(level, Some(self.connection), format_args!("{message}, request: \"{}\"", self.request));
    }
}

impl myriad_upstream::Observer for Observer {
    fn stderr(&self, peer: &Address, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end();
        self.write(
            Level::Error,
            format_args!(
                "FastCGI sent in stderr: \"{text}\" while reading from upstream, upstream: \"{peer}\""
            ),
        );
    }

    fn spoils(&self, text: &[u8]) -> bool {
        let Handler::Origin(origin) = &self.site.runtime.place(self.place).handler else { return false };
        let has = |word: &[u8]| !word.is_empty() && text.windows(word.len()).any(|part| part == word);
        origin.catch_stderr.iter().any(|word| has(word))
    }

    fn warning(&self, peer: &Address, text: &str) {
        self.write(Level::Warn, format_args!("{text}, upstream: \"{peer}\""));
    }

    fn retried(&self, error: &OriginError) {
        match error.peer() {
            Some(peer) => self.write(Level::Error, format_args!("{error}, upstream: \"{peer}\"")),
            None => self.write(Level::Error, format_args!("{error}")),
        }
    }
}
