//! Status of a php-fpm pool (`pm.status_path`) in JSON format.

use std::fmt;

use serde::Deserialize;

/// Maximum accepted length in bytes of a php-fpm status text; php-fpm writes about four hundred.
pub const MAX_BYTES: usize = 8 << 10;

/// Maximum plausible number of php-fpm children. Linux supports at most 4 million processes; a PHP pool has a few
/// hundred.
const MAX_CHILDREN: u32 = 65_535;

/// State of a php-fpm pool at the time when one of its children wrote the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStatus {
    /// Process manager of the pool (`pm`).
    pub manager: Manager,
    /// Number of connections that no child has accepted yet. Linux only reports it for TCP; for a unix socket, it is 0.
    pub listen_queue: u32,
    /// Number of children that wait for a request.
    pub idle: u32,
    /// Number of children that process a request, including the child that wrote the status.
    pub active: u32,
    /// Total number of children: at least 1, at most 65,535.
    pub total: u32,
    /// Number of times the pool needed more children than `pm.max_children`.
    pub max_children_reached: u64,
}

/// Process manager of a php-fpm pool (`pm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manager {
    /// The number of children is constant.
    Static,
    /// Children are created each second while too few are idle.
    Dynamic,
    /// A child is created for a connection if none is idle.
    OnDemand,
}

/// Reason why a text is not the status of a php-fpm pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPoolStatus(String);

impl fmt::Display for NoPoolStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoPoolStatus {}

/// Fields of php-fpm's JSON status, each of which is required; other fields are ignored.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "process manager")]
    manager: Manager,
    #[serde(rename = "listen queue")]
    listen_queue: u32,
    #[serde(rename = "idle processes")]
    idle: u32,
    #[serde(rename = "active processes")]
    active: u32,
    #[serde(rename = "total processes")]
    total: u32,
    #[serde(rename = "max children reached")]
    max_children_reached: u64,
}

impl PoolStatus {
    /// Parses the response of php-fpm to `pm.status_path` with `?json`. Fails if the text has more than [`MAX_BYTES`]
    /// bytes or is not a php-fpm status in JSON, if idle and active children do not add up to the total, or if the
    /// total is not from 1 to 65,535.
    pub fn parse(text: &[u8]) -> Result<Self, NoPoolStatus> {
        if text.len() > MAX_BYTES {
            return Err(NoPoolStatus(format!("the status is longer than {MAX_BYTES} bytes")));
        }
        let fields: Fields = serde_json::from_slice(text).map_err(|error| {
            NoPoolStatus(format!("the response is not a php-fpm status in JSON: {error}"))
        })?;
        let Fields { manager, listen_queue, idle, active, total, max_children_reached } = fields;
        if idle.checked_add(active) != Some(total) {
            let what = format!("it reports {idle} idle and {active} active children, but {total} in total");
            return Err(NoPoolStatus(what));
        }
        if !(1..=MAX_CHILDREN).contains(&total) {
            let what = format!("it reports {total} children in total, which is not from 1 to {MAX_CHILDREN}");
            return Err(NoPoolStatus(what));
        }
        Ok(Self { manager, listen_queue, idle, active, total, max_children_reached })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status of php-fpm 8.2.
    const REAL: &str = r#"{"pool":"www","process manager":"dynamic","start time":1793000000,"start since":7,"accepted conn":12,"listen queue":3,"max listen queue":4,"listen queue len":511,"idle processes":1,"active processes":2,"total processes":3,"max active processes":3,"max children reached":5,"slow requests":0}"#;

    #[test]
    fn status_of_a_real_pool_is_read() {
        let status = PoolStatus {
            manager: Manager::Dynamic,
            listen_queue: 3,
            idle: 1,
            active: 2,
            total: 3,
            max_children_reached: 5,
        };
        assert_eq!(PoolStatus::parse(REAL.as_bytes()), Ok(status));
        for (word, manager) in [("static", Manager::Static), ("ondemand", Manager::OnDemand)] {
            let text = REAL.replace("dynamic", word);
            assert_eq!(PoolStatus::parse(text.as_bytes()).map(|status| status.manager), Ok(manager));
        }
    }

    #[test]
    fn invalid_pool_status_is_rejected_with_reason() {
        let changed = |from: &str, to: &str| REAL.replace(from, to);
        for (text, part) in [
            (String::new(), "not a php-fpm status"),
            ("File not found.\n".to_owned(), "not a php-fpm status"),
            ("<html>".to_owned(), "not a php-fpm status"),
            ("[]".to_owned(), "not a php-fpm status"),
            ("{}".to_owned(), "missing field"),
            (changed("dynamic", "magic"), "unknown variant"),
            (changed("\"idle processes\":1", "\"idle processes\":-1"), "invalid value"),
            (changed("\"idle processes\":1", "\"idle processes\":1e3"), "not a php-fpm status"),
            (changed("\"idle processes\":1", "\"idle processes\":2"), "2 idle and 2 active children, but 3"),
            (changed("\"idle processes\":1", "\"idle processes\":4294967295"), "but 3 in total"),
            (changed("\"total processes\":3", "\"total processes\":99999999999"), "not a php-fpm status"),
            (changed("\"idle processes\":1", "\"idle processes\":1,\"idle processes\":1"), "duplicate field"),
            (format!("{REAL}x"), "trailing"),
            (REAL[..REAL.len() - 9].to_owned(), "not a php-fpm status"),
            (" ".repeat(MAX_BYTES) + REAL, "longer than"),
            ("[".repeat(MAX_BYTES), "not a php-fpm status"),
        ] {
            let error = PoolStatus::parse(text.as_bytes()).expect_err(&text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for total in [0, MAX_CHILDREN + 1] {
            let text = changed(
                "\"idle processes\":1,\"active processes\":2,\"total processes\":3",
                &format!("\"idle processes\":{total},\"active processes\":0,\"total processes\":{total}"),
            );
            let error = PoolStatus::parse(text.as_bytes()).expect_err(&text).to_string();
            let expected = format!("it reports {total} children in total, which is not from 1 to 65535");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn made_up_texts_end_in_an_error_or_a_status_that_adds_up() {
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut text = REAL.as_bytes().to_vec();
            for _ in 0..random.usize(1..6) {
                if text.len() < 2 {
                    break;
                }
                let at = random.usize(..text.len());
                match random.u8(..4) {
                    0 => text[at] = random.u8(..),
                    1 => drop(text.remove(at)),
                    2 => text.insert(at, b"{}[]\",:0123456789-e."[random.usize(..20)]),
                    _ => text.truncate(at.max(1)),
                }
            }
            if let Ok(status) = PoolStatus::parse(&text) {
                assert_eq!(status.idle + status.active, status.total, "seed {seed}");
            }
        }
    }
}
