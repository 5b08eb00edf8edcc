//! Names and numbers that identify nodes, purges and records.

use std::fmt;

use myriad_base::digits::decimal;

/// Maximum length of the name of a cluster or node, in bytes.
const MAX_NAME: usize = 64;

/// Name of a cluster or node: 1 to 64 ASCII letters, digits, `.`, `_` and `-`. Such a name is safe in a key of Valkey.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(String);

/// Reason for which a text is not a [`NodeName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The name is empty.
    Empty,
    /// The name has more than 64 bytes.
    TooLong,
    /// The name contains this character.
    Character(char),
}

impl NodeName {
    /// Validates `name`.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        match name.chars().find(|&c| !is_allowed(c)) {
            _ if name.is_empty() => Err(NameError::Empty),
            _ if name.len() > MAX_NAME => Err(NameError::TooLong),
            Some(character) => Err(NameError::Character(character)),
            None => Ok(Self(name.to_owned())),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::TooLong => write!(f, "the name has more than {MAX_NAME} bytes"),
            Self::Character(character) => {
                write!(f, "the name contains {character:?}; use letters, digits, \".\", \"_\" and \"-\"")
            }
        }
    }
}

impl std::error::Error for NameError {}

/// Random number of one process lifetime of a node. It distinguishes purges of a restarted node from earlier purges, and
/// two processes that use the same node name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StartId(pub [u8; 16]);

/// Identity of a purge. It remains the same when the purge is appended to the log again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PurgeId {
    /// Process lifetime in which the purge was requested.
    pub start: StartId,
    /// Number of the purge in that lifetime, from 1.
    pub sequence: u64,
}

/// ID of an entry of a stream. In the log of purges, `epoch` increases when the log restarts because its data was lost,
/// and `number` counts from 0 within an epoch. In receipts, Valkey assigns both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId {
    /// First number of the ID.
    pub epoch: u64,
    /// Second number of the ID.
    pub number: u64,
}

impl EntryId {
    /// ID before the first entry of a stream.
    pub const ZERO: Self = Self { epoch: 0, number: 0 };
    /// Largest ID.
    pub const MAX: Self = Self { epoch: u64::MAX, number: u64::MAX };

    /// Returns the largest ID that is smaller than this one; [`EntryId::ZERO`] is its own predecessor.
    #[must_use]
    pub fn before(self) -> Self {
        match (self.epoch, self.number) {
            (epoch, 1..) => Self { epoch, number: self.number - 1 },
            (1.., 0) => Self { epoch: self.epoch - 1, number: u64::MAX },
            (0, 0) => Self::ZERO,
        }
    }

    /// Returns the next ID of the same epoch; `None` if the epoch has no further numbers.
    pub fn next_number(self) -> Option<Self> {
        Some(Self { epoch: self.epoch, number: self.number.checked_add(1)? })
    }

    /// Returns the first ID of the next epoch; `None` if there is no further epoch.
    pub fn next_epoch(self) -> Option<Self> {
        Some(Self { epoch: self.epoch.checked_add(1)?, number: 0 })
    }

    /// Parses `EPOCH-NUMBER`, the format of Valkey.
    pub fn parse(text: &str) -> Option<Self> {
        let (epoch, number) = text.split_once('-')?;
        Some(Self { epoch: decimal(epoch)?, number: decimal(number)? })
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

/// HMAC-SHA256 of a value. It authenticates a record, and as a collision-resistant hash it also identifies the record and
/// all its predecessors, because each record contains the tag of its predecessor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordTag(pub [u8; 32]);

impl fmt::Debug for RecordTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Position in the log of purges: a record and, by its tag, all records before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogPosition {
    /// ID of the record.
    pub id: EntryId,
    /// Tag of the record.
    pub tag: RecordTag,
}

impl LogPosition {
    /// Predecessor of the first record of a log.
    pub const START: Self = Self { id: EntryId::ZERO, tag: RecordTag([0; 32]) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_keys() {
        assert_eq!(NodeName::new("web-1.example_x").unwrap().as_str(), "web-1.example_x");
        assert_eq!(NodeName::new(""), Err(NameError::Empty));
        assert_eq!(NodeName::new(&"a".repeat(65)), Err(NameError::TooLong));
        for (name, character) in [("a b", ' '), ("{a}", '{'), ("a:b", ':'), ("ä", 'ä')] {
            assert_eq!(NodeName::new(name), Err(NameError::Character(character)));
        }
    }

    #[test]
    fn ids_are_ordered_and_written_like_those_of_valkey() {
        let id = EntryId { epoch: 3, number: 0 };
        assert_eq!(EntryId::parse("3-0"), Some(id));
        assert_eq!(id.to_string(), "3-0");
        assert_eq!(id.before(), EntryId { epoch: 2, number: u64::MAX });
        assert!(id.before() < id && id < id.next_number().unwrap() && id.next_number() < id.next_epoch());
        assert_eq!(EntryId::ZERO.before(), EntryId::ZERO);
        assert_eq!((EntryId::MAX.next_number(), EntryId::MAX.next_epoch()), (None, None));
        assert_eq!((EntryId::parse("3"), EntryId::parse("3-"), EntryId::parse("-1-2")), (None, None, None));
    }
}
