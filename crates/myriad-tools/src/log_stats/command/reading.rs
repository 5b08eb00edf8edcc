//! Reads log files line by line and counts the lines.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use crate::log_stats::{LogLayout, LoggedRequest, Tally, read_fault, read_object};
use flate2::read::MultiGzDecoder;
use myriad_log::local_time;

use super::configured_logs::ConfiguredLogs;
use super::options::LogOptions;
use myriad_cli::pidfile::reason;

/// Maximum number of bytes that are read of a log line; the rest is skipped.
const LONGEST: u64 = 64 << 10;
/// Number of lines at the start of a log file by which its format is detected.
const LOOKED_AT: usize = 32;
/// Number at which the search for rotated copies of a log (`LOG.1`, `LOG.2`, ...) stops; this number is not searched.
const MOST_ROTATED: usize = 1000;

/// Kind of the lines of a log file: access log, JSON objects, or error log.
enum LineFormat {
    Access(LogLayout),
    Objects,
    Errors,
}

/// Reads all log files that the options select, and returns the counts; empty files are ignored. Returns an error text
/// if no configured log exists, or if a file cannot be read or has an unknown format.
pub(super) fn read(options: &LogOptions) -> Result<Tally, String> {
    let configured = ConfiguredLogs::find(&options.server);
    let format = options.format.as_deref().map(|format| named(format, &configured)).transpose()?;
    let files = files(options, &configured)?;
    let known = configured.unwrap_or_default();
    let mut tally = Tally::default();
    for path in &files {
        let mut source = open(path)?;
        let describe_error = |error: io::Error| format!("{}: {}", path.display(), reason(&error));
        let first = first_lines(&mut source).map_err(describe_error)?;
        let Some(form) = line_format(path, &first, format.as_ref(), &known) else {
            if first.is_empty() {
                continue;
            }
            return Err(format!(
                "{}: unknown log format; specify it with --format, such as --format '$remote_addr [$time_local] …'",
                path.display()
            ));
        };
        let mut reader = LineReader { options, form, tally: &mut tally };
        for line in &first {
            reader.line(line);
        }
        reader.all(&mut source).map_err(describe_error)?;
    }
    Ok(tally)
}

/// Returns the format that `--format` specifies: the text of a format if it contains `$`, otherwise the name of a
/// `log_format` of the configuration, or `combined`.
fn named(format: &str, configured: &Result<ConfiguredLogs, String>) -> Result<LogLayout, String> {
    if format.contains('$') {
        let is_json = format.trim_start().starts_with('{');
        return LogLayout::of(format, is_json)
            .ok_or_else(|| "--format: two variables must be separated by text".to_owned());
    }
    if format == "combined" {
        return Ok(LogLayout::combined());
    }
    match configured {
        Ok(known) => known.named(format).cloned().ok_or_else(|| {
            format!("--format {format}: no such log_format in the configuration; specify the text of the format, with $variables")
        }),
        Err(why) => Err(format!("--format {format}: {why}")),
    }
}

/// Returns the files to read: those of the arguments; otherwise standard input (`-`) if it is a pipe, a file or a
/// socket, and neither `-c` nor `-p` is used; otherwise those of the configuration. With `--rotated`, the rotated
/// copies of each file precede it, except for standard input without an argument.
fn files(options: &LogOptions, configured: &Result<ConfiguredLogs, String>) -> Result<Vec<PathBuf>, String> {
    let mut files = options.files.clone();
    if files.is_empty()
        && is_piped()
        && options.server.configuration.is_none()
        && options.server.prefix.is_none()
    {
        return Ok(vec![PathBuf::from("-")]);
    }
    if files.is_empty() {
        let known = configured.as_ref().map_err(Clone::clone)?;
        files = known.files();
        if files.is_empty() {
            return Err(format!("none of the configured logs exists ({}): specify a file", known.shown()));
        }
    }
    if options.rotated {
        files = files.iter().flat_map(|path| rotated(path)).collect();
    }
    Ok(files)
}

/// Returns whether standard input is neither a terminal nor another character device: it is a pipe, a file or a socket.
fn is_piped() -> bool {
    let input = io::stdin();
    let kind = rustix::fs::fstat(&input).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    !input.is_terminal() && kind.is_ok_and(|kind| !kind.is_char_device())
}

/// Returns the rotated copies of a log (`LOG.1` or `LOG.1.gz`, and so on up to the first number without a file), the
/// oldest first, then the log itself.
fn rotated(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for number in 1..MOST_ROTATED {
        let name = |end: &str| PathBuf::from(format!("{}.{number}{end}", path.display()));
        let Some(there) = ["", ".gz"].into_iter().map(name).find(|path| path.is_file()) else { break };
        found.push(there);
    }
    found.reverse();
    found.push(path.to_owned());
    found
}

/// Opens a log file and decompresses it if it starts with the gzip signature.
fn open(path: &Path) -> Result<Box<dyn BufRead>, String> {
    let describe_error = |error: io::Error| format!("{}: {}", path.display(), reason(&error));
    let mut file: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(BufReader::with_capacity(1 << 20, io::stdin()))
    } else {
        Box::new(BufReader::with_capacity(1 << 20, File::open(path).map_err(describe_error)?))
    };
    if file.fill_buf().map_err(describe_error)?.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(BufReader::with_capacity(1 << 20, MultiGzDecoder::new(file))));
    }
    Ok(file)
}

/// Reads the next line into `line`, without its line break. Of a longer line, stores the first [`LONGEST`] bytes and
/// skips the rest. Returns `false` if there are no more lines.
fn next_line(source: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if source.take(LONGEST).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == LONGEST {
        source.skip_until(b'\n')?;
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(true)
}

fn first_lines(source: &mut Box<dyn BufRead>) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    let mut line = Vec::new();
    while lines.len() < LOOKED_AT && next_line(source, &mut line)? {
        lines.push(line.clone());
    }
    Ok(lines)
}

/// Returns the first format that fits at least half of the `lines` at the start of a log. Formats are tried in this
/// order: error log, `said` (from `--format`), the configured format of the file, all configured formats (first those
/// with durations), `combined`, JSON. If none fits, returns `said`, or `None` without `--format`.
fn line_format(
    path: &Path,
    lines: &[Vec<u8>],
    said: Option<&LogLayout>,
    known: &ConfiguredLogs,
) -> Option<LineFormat> {
    let half = lines.len().div_ceil(2);
    let fits = |reads: &dyn Fn(&[u8]) -> bool| {
        !lines.is_empty() && lines.iter().filter(|line| reads(line)).count() >= half
    };
    if fits(&|line| read_fault(&String::from_utf8_lossy(line), |_| 0).is_some()) {
        return Some(LineFormat::Errors);
    }
    let combined = LogLayout::combined();
    let layouts =
        said.into_iter().chain(known.layout(path)).chain(known.layouts().filter(|layout| layout.has_times()));
    for layout in layouts.chain(known.layouts()).chain([&combined]) {
        let reads = |line: &[u8]| {
            layout.read(line).is_some_and(|visit| visit.status.is_some() || visit.time_s.is_some())
        };
        if fits(&reads) {
            return Some(LineFormat::Access(layout.clone()));
        }
    }
    if fits(&|line| read_object(&String::from_utf8_lossy(line)).is_some_and(|visit| visit.status.is_some())) {
        return Some(LineFormat::Objects);
    }
    said.cloned().map(LineFormat::Access)
}

struct LineReader<'a> {
    options: &'a LogOptions,
    form: LineFormat,
    tally: &'a mut Tally,
}

impl LineReader<'_> {
    fn all(&mut self, source: &mut Box<dyn BufRead>) -> io::Result<()> {
        let mut line = Vec::with_capacity(4096);
        while next_line(source, &mut line)? {
            self.line(&line);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) {
        match &self.form {
            LineFormat::Access(layout) => match layout.read(line) {
                Some(visit) => self.visit(&visit),
                None => self.tally.unread += u64::from(!line.is_empty()),
            },
            LineFormat::Objects => match read_object(&text(line)) {
                Some(visit) => self.visit(&visit),
                None => self.tally.unread += u64::from(!line.is_empty()),
            },
            LineFormat::Errors => match read_fault(&text(line), local_time::offset_minutes) {
                Some(fault) if self.is_within(fault.time_s) => self.tally.fault(&fault),
                // Not counted as unparsed: messages of PHP and of panics have several lines.
                Some(_) | None => {}
            },
        }
    }

    fn visit(&mut self, visit: &LoggedRequest<'_>) {
        let is_host =
            self.options.host.as_deref().is_none_or(|host| {
                visit.host.is_empty() || host.as_bytes().eq_ignore_ascii_case(&visit.host)
            });
        if is_host && self.is_within(visit.time_s) {
            self.tally.visit(visit);
        }
    }

    fn is_within(&self, time_s: Option<u64>) -> bool {
        let LogOptions { since_s, until_s, .. } = self.options;
        // A line without a time is outside of any time range.
        let since = since_s.is_none_or(|since| time_s.is_some_and(|time| time >= since));
        since && until_s.is_none_or(|until| time_s.is_some_and(|time| time <= until))
    }
}

fn text(line: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(line)
}
