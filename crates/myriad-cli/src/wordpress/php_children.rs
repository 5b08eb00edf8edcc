//! Number of php-fpm's children, which limits the concurrent requests to it.

use myriad_base::digits::decimal;

use super::pool;

/// Assumed number of children, if neither `--php-children` nor the configuration of a pool specifies it.
///
/// It exceeds the number in most pools, so that no child is idle while requests wait. It is low enough that a flood of
/// requests waits in this server, not in the queue of php-fpm.
pub(super) const UNKNOWN: u32 = 32;

/// Parses the argument of `--php-children`, a number from 1 to 100,000. Returns an error text for other values.
pub(super) fn parse(value: &str) -> Result<u32, String> {
    let number = decimal::<u32>(value).filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| {
        format!(
            "wordpress: --php-children \"{value}\" is not a valid number; use `pm.max_children` of the pool of php-fpm"
        )
    })
}

/// Returns `pm.max_children` of the pool that listens on an address (an argument of `fastcgi_pass`), according to the
/// configuration of the running php-fpm, otherwise of the installed versions. Returns `None` if it is not found.
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
