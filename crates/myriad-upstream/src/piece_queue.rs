//! Queue of the pieces of a request or of a response body.

use std::collections::VecDeque;

use bytes::Bytes;

/// Queue of non-empty pieces of a request (head and body) or of a response body. The first piece is stored inline, so
/// that a short message of a single piece needs no allocation.
#[derive(Debug, Default)]
pub(crate) struct PieceQueue {
    /// First piece; empty if the queue is empty or its first piece is in `rest`.
    first: Bytes,
    rest: VecDeque<Bytes>,
}

impl PieceQueue {
    /// Creates an empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Creates a queue with a single piece; empty if the piece is empty.
    pub(crate) fn of(piece: Bytes) -> Self {
        Self { first: piece, rest: VecDeque::new() }
    }

    /// Returns whether the queue is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        usize::from(!self.first.is_empty()) + self.rest.len()
    }

    /// Appends a piece; an empty piece is ignored.
    pub(crate) fn push_back(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        if self.is_empty() {
            self.first = piece;
        } else {
            self.rest.push_back(piece);
        }
    }

    /// Removes and returns the first piece; `None` if the queue is empty.
    pub(crate) fn pop_front(&mut self) -> Option<Bytes> {
        if self.first.is_empty() { self.rest.pop_front() } else { Some(std::mem::take(&mut self.first)) }
    }

    /// Returns a mutable reference to the first piece; `None` if the queue is empty.
    pub(crate) fn front_mut(&mut self) -> Option<&mut Bytes> {
        if self.first.is_empty() { self.rest.front_mut() } else { Some(&mut self.first) }
    }

    /// Returns all pieces in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        Some(&self.first).filter(|first| !first.is_empty()).into_iter().chain(&self.rest)
    }
}

impl Extend<Bytes> for PieceQueue {
    fn extend<T: IntoIterator<Item = Bytes>>(&mut self, pieces: T) {
        pieces.into_iter().for_each(|piece| self.push_back(piece));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_the_order_in_which_they_went_whatever_is_taken_between() {
        for seed in 0..500 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut pieces, mut model) = (PieceQueue::new(), VecDeque::new());
            for number in 0..40_u8 {
                if random.bool() {
                    let piece = Bytes::from(vec![number; random.usize(..3)]);
                    if !piece.is_empty() {
                        model.push_back(piece.clone());
                    }
                    pieces.push_back(piece);
                } else {
                    assert_eq!(pieces.front_mut().cloned(), model.front().cloned());
                    assert_eq!(pieces.pop_front(), model.pop_front(), "seed {seed}");
                }
                assert_eq!((pieces.len(), pieces.is_empty()), (model.len(), model.is_empty()));
                assert!(pieces.iter().eq(&model), "seed {seed}");
            }
        }
    }

    #[test]
    fn an_empty_piece_is_none() {
        assert!(PieceQueue::of(Bytes::new()).is_empty());
        assert_eq!(PieceQueue::of(Bytes::from_static(b"a")).len(), 1);
    }
}
