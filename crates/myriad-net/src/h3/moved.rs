//! An address that a client has moved to (RFC 9000 section 9), until it has shown that it gets what is sent there.
//!
//! Whoever has a connection can send a datagram in another's name. quinn counts what goes there, but lets a whole datagram begin while any credit
//! is left, and probes the path's size beside it: 2.5 KB for 60 bytes. Here it is three times what came (section 9.3.1).

use std::net::IpAddr;

use quinn_proto::{Connection as Quic, Transmit};

/// The address, and what may be sent there.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) address: IpAddr,
    /// Bytes: three times what came from there, less what went there.
    credit: u64,
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Goes,
    /// It goes, and the address has answered: quinn asks for no answer any more.
    GoesToShown,
    /// It waits until more has come from there.
    Waits,
    /// A probe of the path's size, which may be lost.
    IsLost,
}

/// What quinn has sent so far: by what a datagram adds to it is told what is in it.
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
    /// A datagram of so many bytes has come from an address that has shown nothing.
    pub(super) fn earn(known: Option<Self>, address: IpAddr, length: usize) -> Self {
        let credit = known.filter(|known| known.address == address).map_or(0, |known| known.credit);
        Self { address, credit: credit.saturating_add(3 * length as u64) }
    }

    /// Judges a datagram that quinn has made: `before` and `after` it, on a connection that is open or not.
    pub(super) fn judge(&mut self, transmit: &Transmit, before: Sent, after: Sent, is_open: bool) -> Fate {
        if transmit.destination.ip() != self.address {
            return Fate::Goes;
        }
        if after.probes > before.probes {
            return Fate::IsLost;
        }
        // Each datagram to a path that has not answered asks it for an answer, but for the last one of a connection.
        if is_open && after.challenges == before.challenges {
            return Fate::GoesToShown;
        }
        self.pay(transmit)
    }

    /// Whether a datagram to the address may go now; then it is paid for.
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
        // What goes elsewhere costs nothing, and another address begins anew.
        assert_eq!(moved.judge(&to([127, 0, 0, 1], 1200), none, asked, true), Fate::Goes);
        let mut other = Moved::earn(Some(Moved { credit: 9000, ..moved }), [127, 0, 0, 3].into(), 1);
        assert_eq!(other.pay(&to([127, 0, 0, 3], 4)), Fate::Waits);
    }

    #[test]
    fn probes_are_lost_and_what_asks_for_no_answer_has_one() {
        let before = Sent { challenges: 1, probes: 1 };
        let mut moved = Moved::earn(None, [127, 0, 0, 2].into(), 100);
        let mut judge = |after, is_open| moved.judge(&to([127, 0, 0, 2], 1300), before, after, is_open);
        assert_eq!(judge(Sent { probes: 2, ..before }, true), Fate::IsLost);
        assert_eq!(judge(before, true), Fate::GoesToShown);
        assert_eq!(judge(before, false), Fate::Waits, "the end of a connection shows nothing");
    }
}
