//! Checks of php-fpm and the database, which all other checks depend on. Their findings come first.

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, Report};

pub(crate) fn check(facts: &Facts, list: &mut Vec<Finding>) {
    if let Some(why) = &facts.php_down {
        Report::new("php-down", list).bad(
            format!("php-fpm does not answer: {why}. Visitors get stored pages and errors only"),
            "systemctl status 'php*-fpm' and php-fpm's log contain the reason; --php ADDRESS names another php-fpm",
        );
    }
    if let Some(why) = database_error(facts) {
        Report::new("database", list).bad(
            format!("WordPress does not reach its database: {why}. Visitors get stored pages and errors only"),
            "is MariaDB or MySQL running (systemctl status mariadb)? DB_HOST, DB_USER and DB_PASSWORD in wp-config.php must be its own",
        );
    }
}

/// Returns the error that WordPress reports of its database.
pub(crate) fn database_error(facts: &Facts) -> Option<&str> {
    facts.wordpress.as_ref().err().map(String::as_str).filter(|why| why.contains("database"))
}

/// Returns whether php-fpm or the database is down: errors of pages follow from that.
pub(crate) fn is_down(facts: &Facts) -> bool {
    facts.php_down.is_some() || database_error(facts).is_some()
}
