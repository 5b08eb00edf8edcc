//! New address of a client that has moved (RFC 9000 section 9), until it is validated.
//!
//! Any client with a connection can send a datagram with a forged source address. quinn limits the bytes sent to that
//! address, but sends a whole datagram while any credit is left, and also probes the path MTU: 2.5 KB for 60 bytes.
//! This module limits them to three times the received bytes (section 9.3.1).

use std::net::IpAddr;

use quinn_proto::{Connection as Quic, Transmit};

/// New address and the credit for bytes sent to it.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) address: IpAddr,
    /// Credit in bytes: three times the bytes received from the address, minus the bytes sent to it.
    credit: u64,
}

/// Decision about a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Goes,
    /// It is sent, and the address is validated: quinn no longer challenges it.
    GoesToShown,
    /// It waits until more bytes have been received from the address.
    Waits,
    /// A path MTU probe, which may be dropped.
    IsLost,
}

/// Frame counters of quinn; the difference caused by a datagram shows its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    challenges: u64,
    probes: u64,
}

impl Sent {
    pub(super) fn by(quic: &Quic) -> Self {
        let stats = quic.stats();
        Self { challenges: stats.frame_tx.path_challenge, probes: stats.path.sent_plpmtud_probes }
    }
}

impl Moved {
    /// Adds the credit for a datagram of `length` bytes from an address that is not validated.
    pub(super) fn earn(known: Option<Self>, address: IpAddr, length: usize) -> Self {
        let credit = known.filter(|known| known.address == address).map_or(0, |known| known.credit);
        Self { address, credit: credit.saturating_add(3 * length as u64) }
    }

    /// Decides about a datagram made by quinn. `before` and `after` are the counters around it; `is_open` is the state
    /// of the connection.
    pub(super) fn judge(&mut self, transmit: &Transmit, before: Sent, after: Sent, is_open: bool) -> Fate {
        if transmit.destination.ip() != self.address {
            return Fate::Goes;
        }
        if after.probes > before.probes {
            return Fate::IsLost;
        }
        // Each datagram to an unvalidated path contains a challenge, except the last datagram of a connection.
        if is_open && after.challenges == before.challenges {
            return Fate::GoesToShown;
        }
        self.pay(transmit)
    }

    /// Charges a datagram to the credit of the address. It waits if the credit is too small.
    pub(super) fn pay(&mut self, transmit: &Transmit) -> Fate {
        match self.credit.checked_sub(transmit.size as u64) {
            Some(left) => {
                self.credit = left;
                Fate::Goes
            }
            None => Fate::Waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(address: [u8; 4], size: usize) -> Transmit {
        Transmit { destination: (address, 1).into(), ecn: None, size, segment_size: None, src_ip: None }
    }

    #[test]
    fn three_times_what_came_goes_to_an_address_that_has_not_answered() {
        let here: IpAddr = [127, 0, 0, 2].into();
        let (none, asked) = (Sent { challenges: 1, probes: 1 }, Sent { challenges: 2, probes: 1 });
        let mut moved = Moved::earn(None, here, 100);
        assert_eq!(moved.judge(&to([127, 0, 0, 2], 1200), none, asked, true), Fate::Waits);
        assert_eq!(moved.judge(&to([127, 0, 0, 2], 200), none, asked, true), Fate::Goes);
        assert_eq!(moved.pay(&to([127, 0, 0, 2], 101)), Fate::Waits);
        let mut moved = Moved::earn(Some(moved), here, 1000);
        assert_eq!(moved.pay(&to([127, 0, 0, 2], 3100)), Fate::Goes);
        assert_eq!(moved.pay(&to([127, 0, 0, 2], 1)), Fate::Waits);
        // Datagrams to other addresses are free, and a new address starts without credit.
        assert_eq!(moved.judge(&to([127, 0, 0, 1], 1200), none, asked, true), Fate::Goes);
        let mut other = Moved::earn(Some(Moved { credit: 9000, ..moved }), [127, 0, 0, 3].into(), 1);
        assert_eq!(other.pay(&to([127, 0, 0, 3], 4)), Fate::Waits);
    }

    #[test]
    fn probes_are_dropped_and_datagram_without_challenge_validates_address() {
        let before = Sent { challenges: 1, probes: 1 };
        let mut moved = Moved::earn(None, [127, 0, 0, 2].into(), 100);
        let mut judge = |after, is_open| moved.judge(&to([127, 0, 0, 2], 1300), before, after, is_open);
        assert_eq!(judge(Sent { probes: 2, ..before }, true), Fate::IsLost);
        assert_eq!(judge(before, true), Fate::GoesToShown);
        assert_eq!(judge(before, false), Fate::Waits, "the end of a connection shows nothing");
    }
}
