//! Children of php-fpm: as many requests as it has children are sent to it at once, and no more.

use super::pool;

/// Children that are assumed if neither `--php-children` nor a pool's file says how many there are: more than most pools have,
/// so that none is idle while requests wait, and few enough that a flood of requests waits here and not in php-fpm's queue.
pub(super) const UNKNOWN: u32 = 32;

/// The value of `--php-children`.
pub(super) fn parse(value: &str) -> Result<u32, String> {
    let number = value.parse::<u32>().ok().filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| {
        format!(
            "wordpress: --php-children \"{value}\" is no number of children; write `pm.max_children` of php-fpm's pool"
        )
    })
}

/// `pm.max_children` of the pool that listens at an address, in the form of `fastcgi_pass`: by the files of the php-fpm that runs, else by
/// those of the installed versions.
pub(crate) fn of_running(php: &str) -> Option<u32> {
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
