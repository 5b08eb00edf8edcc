//! Byte limit for a new client address (RFC 9000 section 9) until it is validated.
//!
//! Any client with a connection can send a datagram with a forged source address. quinn limits the bytes sent to that
//! address, but sends a whole datagram while any credit is left, and probes the path MTU as well: 2.5 KB for 60 bytes.
//! This module limits the bytes to three times the received bytes (section 9.3.1).

use std::net::IpAddr;

use quinn_proto::{Connection as Quic, Transmit};

/// New address of a client that has not been validated, and the number of bytes that may be sent to it.
#[derive(Debug)]
pub(super) struct UnvalidatedAddress {
    pub(super) address: IpAddr,
    /// Credit in bytes: three times the bytes received from the address, minus the bytes sent to it.
    credit: u64,
}

/// Decision about a datagram that quinn has created for an unvalidated address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendDecision {
    SendNow,
    /// Send the datagram; the address is validated, because quinn no longer challenges it.
    SendAndValidate,
    /// Delay the datagram until more bytes have been received from the address.
    Hold,
    /// Drop the datagram: it is a path MTU probe, which is optional.
    DropProbe,
}

/// Frame counters of a quinn connection. Their change shows which frames a new datagram contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameCounters {
    challenges: u64,
    probes: u64,
}

impl FrameCounters {
    pub(super) fn of_connection(quic: &Quic) -> Self {
        let stats = quic.stats();
        Self { challenges: stats.frame_tx.path_challenge, probes: stats.path.sent_plpmtud_probes }
    }
}

impl UnvalidatedAddress {
    /// Adds three times the `length` in bytes of a received datagram to the credit of `known`. Starts without credit if
    /// `known` is `None` or another address.
    pub(super) fn add_credit(known: Option<Self>, address: IpAddr, length: usize) -> Self {
        let credit = known.filter(|known| known.address == address).map_or(0, |known| known.credit);
        Self { address, credit: credit.saturating_add(3 * length as u64) }
    }

    /// Decides about a datagram that quinn has created. `before` and `after` are the frame counters around its
    /// creation; `is_open` is false once the connection is closed.
    pub(super) fn decide(
        &mut self,
        transmit: &Transmit,
        before: FrameCounters,
        after: FrameCounters,
        is_open: bool,
    ) -> SendDecision {
        if transmit.destination.ip() != self.address {
            return SendDecision::SendNow;
        }
        if after.probes > before.probes {
            return SendDecision::DropProbe;
        }
        // Each datagram to an unvalidated address contains a challenge, except when the connection is closed.
        if is_open && after.challenges == before.challenges {
            return SendDecision::SendAndValidate;
        }
        self.charge(transmit)
    }

    /// Subtracts a datagram from the credit; returns [`SendDecision::Hold`] if the credit does not suffice.
    pub(super) fn charge(&mut self, transmit: &Transmit) -> SendDecision {
        match self.credit.checked_sub(transmit.size as u64) {
            Some(left) => {
                self.credit = left;
                SendDecision::SendNow
            }
            None => SendDecision::Hold,
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
        let (none, asked) =
            (FrameCounters { challenges: 1, probes: 1 }, FrameCounters { challenges: 2, probes: 1 });
        let mut moved = UnvalidatedAddress::add_credit(None, here, 100);
        assert_eq!(moved.decide(&to([127, 0, 0, 2], 1200), none, asked, true), SendDecision::Hold);
        assert_eq!(moved.decide(&to([127, 0, 0, 2], 200), none, asked, true), SendDecision::SendNow);
        assert_eq!(moved.charge(&to([127, 0, 0, 2], 101)), SendDecision::Hold);
        let mut moved = UnvalidatedAddress::add_credit(Some(moved), here, 1000);
        assert_eq!(moved.charge(&to([127, 0, 0, 2], 3100)), SendDecision::SendNow);
        assert_eq!(moved.charge(&to([127, 0, 0, 2], 1)), SendDecision::Hold);
        // Datagrams to other addresses do not use credit, and a new address starts without credit.
        assert_eq!(moved.decide(&to([127, 0, 0, 1], 1200), none, asked, true), SendDecision::SendNow);
        let mut other = UnvalidatedAddress::add_credit(
            Some(UnvalidatedAddress { credit: 9000, ..moved }),
            [127, 0, 0, 3].into(),
            1,
        );
        assert_eq!(other.charge(&to([127, 0, 0, 3], 4)), SendDecision::Hold);
    }

    #[test]
    fn probes_are_dropped_and_datagram_without_challenge_validates_address() {
        let before = FrameCounters { challenges: 1, probes: 1 };
        let mut moved = UnvalidatedAddress::add_credit(None, [127, 0, 0, 2].into(), 100);
        let mut judge = |after, is_open| moved.decide(&to([127, 0, 0, 2], 1300), before, after, is_open);
        assert_eq!(judge(FrameCounters { probes: 2, ..before }, true), SendDecision::DropProbe);
        assert_eq!(judge(before, true), SendDecision::SendAndValidate);
        assert_eq!(judge(before, false), SendDecision::Hold, "the end of a connection shows nothing");
    }
}
