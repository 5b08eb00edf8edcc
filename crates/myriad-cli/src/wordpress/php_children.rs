//! Children of php-fpm. Their number is the limit of concurrent requests to it.

use super::pool;

/// Assumed number of children if neither `--php-children` nor the file of a pool specifies it.
///
/// It exceeds the number in most pools, so that no child is idle while requests wait, and is low enough that a flood of
/// requests waits in this server and not in the queue of php-fpm.
pub(super) const UNKNOWN: u32 = 32;

/// Parses the value of `--php-children`.
pub(super) fn parse(value: &str) -> Result<u32, String> {
    let number = value.parse::<u32>().ok().filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| {
        format!(
            "wordpress: --php-children \"{value}\" is not a valid number; use `pm.max_children` of the pool of php-fpm"
        )
    })
}

/// Returns `pm.max_children` of the pool that listens on an address, in the form of `fastcgi_pass`: by the files of the
/// running php-fpm, else by those of the installed versions.
pub fn of_running(php: &str) -> Option<u32> {
    pool::running(php)?.children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_a_number_of_children() {
        assert_eq!(parse("5"), Ok(5));
        for bad in ["0", "-1", "many", "", "100001"] {
            assert!(parse(bad).expect_err("refused").contains("--php-children"), "{bad}");
        }
    }
}
