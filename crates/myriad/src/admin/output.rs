//! Output of commands, and their exit status by whether they found a result.

use std::io::{self, Write};
use std::process::ExitCode;

/// Returns the exit status of a command by whether it found a result.
pub(crate) fn found(any: bool) -> ExitCode {
    if any { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Standard output. A reader that closes it early (`| head`) causes no error.
pub(crate) struct Output {
    out: io::BufWriter<io::StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { out: io::BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Writes a line; returns `false` once the reader has closed the output.
    pub(crate) fn line(&mut self, text: &str) -> Result<bool, String> {
        Self::judged(writeln!(self.out, "{text}"))
    }

    pub(crate) fn finish(mut self) -> Result<bool, String> {
        Self::judged(self.out.flush())
    }

    fn judged(written: io::Result<()>) -> Result<bool, String> {
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(format!("standard output: {error}")),
        }
    }
}
