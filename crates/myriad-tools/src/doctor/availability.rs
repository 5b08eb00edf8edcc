//! Checks that php-fpm and the database respond. Many other checks depend on that, so their findings come first.

use crate::doctor::facts::StackFacts;
use crate::doctor::finding::{CheckReport, DoctorFinding};

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    if let Some(why) = &facts.php_down {
        CheckReport::new("php-down", list).bad(
            format!("php-fpm does not respond: {why}. Visitors receive only cached pages and errors"),
            "see systemctl status 'php*-fpm' and the log of php-fpm; for another php-fpm, use --php ADDRESS",
        );
    }
    if let Some(why) = database_error(facts) {
        CheckReport::new("database", list).bad(
            format!("WordPress cannot connect to its database: {why}. Visitors receive only cached pages and errors"),
            "check that MariaDB or MySQL is running (systemctl status mariadb), and DB_HOST, DB_USER and DB_PASSWORD in \
                 wp-config.php",
        );
    }
}

/// Returns the error of the request for the facts about WordPress if its text contains `database`, otherwise `None`.
pub(crate) fn database_error(facts: &StackFacts) -> Option<&str> {
    facts.wordpress.as_ref().err().map(String::as_str).filter(|why| why.contains("database"))
}

/// Returns whether php-fpm or the database is down, which explains errors of pages.
pub(crate) fn is_down(facts: &StackFacts) -> bool {
    facts.php_down.is_some() || database_error(facts).is_some()
}
