//! Marks of the last changes of certificates in Valkey, by which a node finds the certificates that it must read.

use std::collections::HashSet;

use myriad_cluster::record::CertificateNames;

/// Length of a mark, in bytes: the ID of the certificate, and the last bytes of its value, both in hexadecimal digits.
const MARK: usize = 64;
/// Maximum length of all marks, in bytes. A node that missed more changes compares all certificates.
pub(super) const CHANGES_LENGTH: usize = 64 * MARK;

/// Certificates that have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChangedCertificates {
    /// Those with these IDs.
    Some(HashSet<Vec<u8>>),
    /// Any.
    All,
}

impl ChangedCertificates {
    /// Returns the certificates that have changed since the mark `known`, which may be empty.
    pub(super) fn since(known: &[u8], marks: &[u8]) -> Self {
        let later = marks.rchunks(MARK).take_while(|mark| *mark != known);
        let later: Vec<_> = later.collect();
        // The known mark is missing if there were too many changes since, or the data was lost or changed.
        if later.len() == marks.len().div_ceil(MARK) {
            return Self::All;
        }
        Self::Some(later.iter().map(|mark| mark[..MARK / 2].to_vec()).collect())
    }

    /// Returns true if a certificate may have changed.
    pub(super) fn contain(&self, names: &CertificateNames) -> bool {
        match self {
            Self::Some(ids) => ids.contains(names.id().as_bytes()),
            Self::All => true,
        }
    }
}

/// Returns the mark of the change of a certificate to an encrypted value, which is different for each change.
pub(super) fn change_mark(names: &CertificateNames, value: &[u8]) -> String {
    let last = &value[value.len().saturating_sub(MARK / 4)..];
    last.iter().fold(names.id().to_owned(), |mark, byte| mark + &format!("{byte:02x}"))
}

/// Returns the last mark; empty if there is none.
pub(super) fn last_mark(marks: &[u8]) -> &[u8] {
    &marks[marks.len().saturating_sub(MARK)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_cluster::record::{ClusterSecret, NodeName};

    #[test]
    fn certificates_that_changed_since_the_known_mark_are_found() {
        let secret =
            ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[1; 32]).expect("long enough");
        let names = ["a", "b", "c"].map(|text| CertificateNames::new(&secret, text));
        let marks: Vec<_> = names.iter().map(|names| change_mark(names, &[7; 40])).collect();
        assert!(marks.iter().all(|mark| mark.len() == MARK));
        let all = marks.concat().into_bytes();
        assert_eq!(last_mark(&all), marks[2].as_bytes());
        let changed = |known: &[u8], marks: &[u8]| {
            let changed = ChangedCertificates::since(known, marks);
            names.iter().map(|names| changed.contain(names)).collect::<Vec<_>>()
        };
        assert_eq!(changed(marks[0].as_bytes(), &all), [false, true, true]);
        assert_eq!(changed(marks[2].as_bytes(), &all), [false; 3]);
        // The oldest marks were removed, the data was lost, or another client wrote something else.
        assert_eq!(changed(marks[0].as_bytes(), &all[MARK..]), [true; 3]);
        assert_eq!(changed(b"", &all), [true; 3]);
        assert_eq!(changed(marks[0].as_bytes(), b""), [true; 3]);
        assert_eq!(changed(marks[0].as_bytes(), b"something else"), [true; 3]);
        let damaged = [b"x", &all[..]].concat();
        assert_eq!(changed(marks[0].as_bytes(), &damaged), [false, true, true]);
    }
}
