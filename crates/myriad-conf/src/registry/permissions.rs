//! Permissions of files that the server creates: `dav_access`, `*_store_access`.

use super::Arguments;
use crate::diagnostic::Diagnostic;

/// Converts arguments such as `user:rw group:rw all:r` to a file mode. Without `user:`, the owner may read and write.
///
/// # Errors
/// Returns an error if an argument has another form.
pub fn permissions(args: &mut Arguments<'_>) -> Result<u32, Diagnostic> {
    let mut access = 0;
    let mut user = 0o600;
    for index in 0..args.len() {
        let (who, what) = match args.bytes(index).iter().position(|byte| *byte == b':') {
            Some(at) => args.bytes(index).split_at(at),
            None => (args.bytes(index), &b""[..]),
        };
        let shift = match who {
            b"user" => 6,
            b"group" => 3,
            b"all" => 0,
            _ => return Err(args.invalid(index, "`user:`, `group:` or `all:` with `r` or `rw`")),
        };
        let bits = match what {
            b":rw" => 0o6,
            b":r" => 0o4,
            _ => return Err(args.invalid(index, "`user:`, `group:` or `all:` with `r` or `rw`")),
        };
        if shift == 6 {
            user = 0;
        }
        access |= bits << shift;
    }
    Ok(access | user)
}

/// Returns the mode of a folder for files with `mode`: users with permission to read the files may also search the
/// folder.
pub const fn folder_permissions(mode: u32) -> u32 {
    mode | (mode & 0o444) >> 2
}
