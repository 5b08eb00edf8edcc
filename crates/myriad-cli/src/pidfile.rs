//! The pid file, by which administrators, init systems and `-s` find the supervisor.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// Pid file of this process. It is removed on drop, unless it contains another process ID by then.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
}

impl PidFile {
    /// Writes the ID of this process to the file at `path`, atomically: a file `path` + `.new` is renamed to it.
    pub fn write(path: PathBuf) -> io::Result<Self> {
        let aside = with_suffix(&path, ".new");
        // A leftover file of a crash, or a link of another user that must not be followed.
        if let Err(error) = fs::remove_file(&aside)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = fs::File::create_new(&aside)?;
        writeln!(file, "{}", std::process::id())?;
        fs::rename(&aside, &path).inspect_err(|_| {
            let _ = fs::remove_file(&aside);
        })?;
        Ok(Self { path })
    }

    /// Returns the current path of the pid file, which renaming changes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the pid file before a new binary is started: `nginx.pid` becomes `nginx.pid.oldbin`.
    pub fn rename_to_oldbin(&mut self) -> io::Result<()> {
        self.rename(with_suffix(&self.path, ".oldbin"))
    }

    /// Renames the file back (`nginx.pid.oldbin` to `nginx.pid`) after the new binary has exited. Does nothing if it
    /// was not renamed.
    pub fn rename_back(&mut self) -> io::Result<()> {
        let name = self.path.as_os_str().as_encoded_bytes();
        let Some(stem) = name.strip_suffix(b".oldbin") else { return Ok(()) };
        let path = PathBuf::from(String::from_utf8_lossy(stem).into_owned());
        self.rename(path)
    }

    fn rename(&mut self, to: PathBuf) -> io::Result<()> {
        fs::rename(&self.path, &to)?;
        self.path = to;
        Ok(())
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if read(&self.path).is_ok_and(|pid| pid.as_raw_nonzero().get() as u32 == std::process::id()) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the process ID in a pid file. Returns nginx's error text if the file cannot be read or is invalid.
pub fn read(path: &Path) -> Result<Pid, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("open() \"{}\" failed ({})", path.display(), reason(&error)))?;
    let number = text.trim_end_matches(['\r', '\n']);
    number
        .parse()
        .ok()
        .filter(|&pid: &i32| pid > 0)
        .and_then(Pid::from_raw)
        .ok_or_else(|| format!("invalid PID number \"{number}\" in \"{}\"", path.display()))
}

/// Formats an I/O error in the wording of nginx: number, then the text of the system; only the text if the error has no
/// number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            format!("{number}: {}", text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text))
        }
        None => text,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("myriad-pidfile-{}-{name}", std::process::id()))
    }

    #[test]
    fn the_file_goes_with_its_owner() {
        let path = temporary("owner");
        let file = PidFile::write(path.clone()).expect("write");
        assert_eq!(read(&path).expect("pid").as_raw_nonzero().get() as u32, std::process::id());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_taken_by_another_process_is_left() {
        let path = temporary("taken");
        let file = PidFile::write(path.clone()).expect("write");
        fs::write(&path, "1\n").expect("overwrite");
        drop(file);
        assert!(path.exists());
        fs::remove_file(path).expect("remove");
    }

    #[test]
    fn upgrade_moves_the_file_aside_and_back() {
        let path = temporary("upgrade");
        let mut file = PidFile::write(path.clone()).expect("write");
        file.rename_to_oldbin().expect("aside");
        assert!(!path.exists() && with_suffix(&path, ".oldbin").exists());
        file.rename_back().expect("back");
        assert!(path.exists() && file.path() == path);
    }

    #[test]
    fn nonsense_is_an_error_that_quotes_it() {
        let path = temporary("nonsense");
        for text in ["", "abc\n", "-4\n", "0\n", "99999999999999999999\n"] {
            fs::write(&path, text).expect("write");
            let error = read(&path).expect_err(text);
            assert!(error.starts_with(&format!("invalid PID number \"{}\"", text.trim_end())), "{error}");
        }
        fs::remove_file(&path).expect("remove");
        assert!(read(&path).expect_err("absent").contains("failed (2: No such file or directory)"));
    }
}
