//! Output of commands, and their exit status by whether they found a result.

use std::io::{self, Write};
use std::process::ExitCode;

/// Returns the exit status of a command: 0 if `any`, which means that it found a result, otherwise 2.
pub fn exit_code_for(any: bool) -> ExitCode {
    if any { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Standard output. A reader that closes it early (`| head`) causes no error.
pub struct CommandOutput {
    out: io::BufWriter<io::StdoutLock<'static>>,
}

impl Default for CommandOutput {
    fn default() -> Self {
        Self::new()
    }
}

impl CommandOutput {
    /// Creates a buffered output, and locks standard output until it is dropped.
    pub fn new() -> Self {
        Self { out: io::BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Writes a line. Returns `false` if the reader has closed the output.
    pub fn line(&mut self, text: &str) -> Result<bool, String> {
        Self::is_open(writeln!(self.out, "{text}"))
    }

    /// Flushes the output. Returns `false` if the reader has closed it.
    pub fn finish(mut self) -> Result<bool, String> {
        Self::is_open(self.out.flush())
    }

    fn is_open(written: io::Result<()>) -> Result<bool, String> {
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(format!("standard output: {error}")),
        }
    }
}
