//! The terminal: switched to an alternate screen, and restored when the command exits.

use std::io::{self, Read, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::thread;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use super::event::{KeyPress, TopEvent};

/// Terminal without line buffering and echo, with the alternate screen; restored on drop.
pub(super) struct Screen {
    before: Termios,
}

/// True while the terminal is switched, so that it is restored only once.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Switches the terminal: keys are read immediately and without echo, and the alternate screen is shown.
    pub(super) fn take() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // `read` returns as soon as one byte is available.
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        IS_TAKEN.store(true, SeqCst);
        restore_before_panic(before.clone());
        let screen = Self { before };
        write(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore(&self.before);
    }
}

/// Restores the terminal. Its modes are restored even if the output is closed.
fn restore(before: &Termios) {
    if IS_TAKEN.swap(false, SeqCst) {
        let _ = write(b"\x1b[0m\x1b[?25h\x1b[?1049l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
}

/// Installs a panic hook that restores the terminal, prints the panic message and exits with status 101.
///
/// Without the hook, the message would disappear with the alternate screen, and after a panic of another thread the
/// screen would remain without updates.
fn restore_before_panic(before: Termios) {
    let previous_hook = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        restore(&before);
        previous_hook(what);
        std::process::exit(101);
    }));
}

/// Draws the lines from the top of the screen, at most `height`, and clears the rest.
pub(super) fn draw(lines: &[String], height: usize) -> io::Result<()> {
    let mut out = String::from("\x1b[H");
    for (number, line) in lines.iter().take(height).enumerate() {
        out.push_str(if number == 0 { "" } else { "\r\n" });
        out.push_str(line);
        out.push_str("\x1b[K");
    }
    out.push_str("\x1b[J");
    write(out.as_bytes())
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Returns the columns of the terminal, limited to 40 to 400, and its rows, at least 10; 80 and 24 if unknown.
pub(super) fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    (usize::from(columns).clamp(40, 400), usize::from(rows).max(10))
}

/// Starts a thread that sends each key to `events`, and [`KeyPress::Quit`] when standard input is closed or cannot be
/// read.
pub(super) fn keys(events: Sender<TopEvent>) {
    thread::spawn(move || {
        let mut bytes = [0; 64];
        loop {
            let read = io::stdin().read(&mut bytes).unwrap_or(0);
            for key in keys_of(&bytes[..read]) {
                if events.send(TopEvent::Key(key)).is_err() {
                    return;
                }
            }
            if read == 0 {
                let _ = events.send(TopEvent::Key(KeyPress::Quit));
                return;
            }
        }
    });
}

/// Returns the keys in bytes that the terminal sent together. The escape key alone means [`KeyPress::Quit`]; escape
/// sequences of special keys and unknown keys are ignored.
fn keys_of(bytes: &[u8]) -> Vec<KeyPress> {
    match bytes {
        // The escape key alone quits, like `q`.
        [0x1b] => vec![KeyPress::Quit],
        [0x1b, ..] => Vec::new(),
        _ => bytes.iter().filter_map(|byte| key(*byte)).collect(),
    }
}

fn key(byte: u8) -> Option<KeyPress> {
    match byte {
        b'q' | b'Q' | 3 | 4 => Some(KeyPress::Quit),
        b'\t' => Some(KeyPress::Tab),
        b' ' => Some(KeyPress::Letter('p')),
        b'!'..=b'~' => Some(KeyPress::Letter(char::from(byte.to_ascii_lowercase()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_and_sequences_are_none() {
        assert_eq!(keys_of(b"1\tq"), [KeyPress::Letter('1'), KeyPress::Tab, KeyPress::Quit]);
        assert_eq!(keys_of(b"\x1b[A"), []);
        assert_eq!(keys_of(b"\x1b"), [KeyPress::Quit]);
        assert_eq!(keys_of(b" ?\x00"), [KeyPress::Letter('p'), KeyPress::Letter('?')]);
        assert_eq!(keys_of(b""), []);
    }
}
