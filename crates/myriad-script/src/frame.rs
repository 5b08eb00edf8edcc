//! State of a request while scripts run: values of user variables, captures, and the text of a `return` or redirect.

use smallvec::SmallVec;

use crate::error::EvalError;

/// Maximum depth of variables that depend on other variables, as in nginx (`ngx_http_variable_depth`).
const MAX_DEPTH: u32 = 100;

/// Maximum capacity of a buffer that a [`Frame`] reuses, in bytes; larger buffers are freed. The limit does not apply to
/// the values in slots.
const MAX_REUSED_CAPACITY: usize = 16 * 1024;

/// Offset that stands for a regex group that did not participate in the match.
const UNSET: u32 = u32::MAX;

/// State of a request while scripts run. Embedders reuse frames for other requests of the same configuration.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Number of the current request. Only slots with this number have a value, so that `reset` need not access the
    /// slots.
    generation: u32,
    slots: Vec<VariableSlot>,
    captures: Captures,
    output: Vec<u8>,
    spare: Vec<Vec<u8>>,
    depth: u32,
}

#[derive(Clone, Debug, Default)]
struct VariableSlot {
    generation: u32,
    kind: SlotKind,
    value: Vec<u8>,
}

/// Origin of the value of a variable, which determines whether it is computed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// The value was assigned by a script, such as `set`, and is never computed.
    #[default]
    Assigned,
    /// The value was computed at its first read, such as the result of a `map`.
    Computed,
    /// The value is computed again at the next read. It is the result of a `volatile` block, the value of a hidden
    /// variable of the embedder (both remain volatile), or a computed value after [`Frame::forget_computed`].
    Volatile,
}

/// Groups of the latest regex match, with a copy of the text in which the regex was searched.
#[derive(Clone, Debug, Default)]
struct Captures {
    subject: Vec<u8>,
    /// Start and end offset of each group, the whole match first.
    spans: SmallVec<[(u32, u32); 10]>,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame::new()
    }
}

impl Frame {
    /// Creates an empty frame.
    pub fn new() -> Frame {
        Frame {
            generation: 1,
            slots: Vec::new(),
            captures: Captures::default(),
            output: Vec::new(),
            spare: Vec::new(),
            depth: 0,
        }
    }

    /// Prepares the frame for another request; its memory is reused.
    pub fn reset(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            // The number of the request has wrapped: slots of old requests could be considered set again.
            self.slots.clear();
            self.generation = 1;
        }
        self.depth = 0;
        self.captures.spans.clear();
        clear_bounded(&mut self.captures.subject);
        clear_bounded(&mut self.output);
    }

    /// Makes the variables that were computed, such as results of `map`, be computed again at their next read, for a
    /// copy of the request with other header fields. Values that a script has assigned remain.
    pub fn forget_computed(&mut self) {
        for slot in &mut self.slots {
            if slot.kind == SlotKind::Computed {
                slot.kind = SlotKind::Volatile;
            }
        }
    }

    /// Returns the text of the latest [`crate::ProgramAction::Return`] or [`crate::ProgramAction::Redirect`].
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Returns the text of a group (0 for the whole match) of the latest match; `None` if the group does not exist or
    /// did not participate, or there is no match.
    pub fn capture(&self, group: usize) -> Option<&[u8]> {
        let &(start, end) = self.captures.spans.get(group)?;
        self.captures.subject.get(start as usize..end as usize)
    }

    /// Clears the captures, as after an unsuccessful `rewrite` or `if`.
    pub fn clear_captures(&mut self) {
        self.captures.spans.clear();
    }

    /// Replaces the captures by groups of `subject`, given as start and end offsets; `None` is a group that did not
    /// participate.
    pub(crate) fn set_captures(
        &mut self,
        subject: &[u8],
        groups: impl Iterator<Item = Option<(usize, usize)>>,
    ) {
        self.captures.subject.clear();
        self.captures.subject.extend_from_slice(subject);
        self.captures.spans.clear();
        self.captures.spans.extend(
            groups.map(|span| span.map_or((UNSET, UNSET), |(start, end)| (start as u32, end as u32))),
        );
    }

    #[inline]
    pub(crate) fn is_set(&self, slot: u32) -> bool {
        self.slots
            .get(slot as usize)
            .is_some_and(|slot| slot.generation == self.generation && slot.kind != SlotKind::Volatile)
    }

    /// Returns the value stored in the slot; empty if no value was stored for the current request.
    #[inline]
    pub(crate) fn slot(&self, slot: u32) -> &[u8] {
        match self.slots.get(slot as usize) {
            Some(slot) if slot.generation == self.generation => &slot.value,
            _ => b"",
        }
    }

    #[inline]
    pub(crate) fn assign(&mut self, slot: u32, value: &[u8]) {
        let slot = self.claim(slot);
        slot.value.clear();
        slot.value.extend_from_slice(value);
    }

    /// Moves a value into the slot of a variable; `value` receives the slot's previous buffer.
    pub(crate) fn store(&mut self, slot: u32, value: &mut Vec<u8>, kind: SlotKind) {
        let slot = self.claim(slot);
        slot.kind = kind;
        std::mem::swap(&mut slot.value, value);
    }

    /// Takes the value out of the slot of a variable, so that it can be read while the frame changes. `return_slot`
    /// must restore it.
    pub(crate) fn lend_slot(&mut self, slot: u32) -> Vec<u8> {
        match self.slots.get_mut(slot as usize) {
            Some(slot) if slot.generation == self.generation => std::mem::take(&mut slot.value),
            _ => Vec::new(),
        }
    }

    pub(crate) fn return_slot(&mut self, slot: u32, value: Vec<u8>) {
        let generation = self.generation;
        if let Some(slot) = self.slots.get_mut(slot as usize)
            && slot.generation == generation
        {
            slot.value = value;
        }
    }

    /// Assigns a group of the latest match to the slot of a variable; an empty value for a group that did not
    /// participate.
    pub(crate) fn assign_capture(&mut self, slot: u32, group: usize) {
        let mut value = self.take_buffer();
        value.extend_from_slice(self.capture(group).unwrap_or_default());
        self.store(slot, &mut value, SlotKind::Assigned);
        self.give_buffer(value);
    }

    #[inline]
    fn claim(&mut self, slot: u32) -> &mut VariableSlot {
        let index = slot as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, VariableSlot::default);
        }
        let slot = &mut self.slots[index];
        slot.generation = self.generation;
        slot.kind = SlotKind::Assigned;
        slot
    }

    /// Begins a nested evaluation. Returns an error if the nesting is too deep. After success [`Frame::leave`] must
    /// follow, even if the evaluation fails.
    ///
    /// The embedder uses the pair for variables that are templates themselves, so that a cycle of such variables
    /// results in an error instead of a stack overflow.
    pub fn enter(&mut self, variable: &str) -> Result<(), EvalError> {
        if self.depth >= MAX_DEPTH {
            return Err(EvalError::Cycle { variable: variable.to_owned() });
        }
        self.depth += 1;
        Ok(())
    }

    /// Finishes a nested evaluation that [`Frame::enter`] began.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(crate) fn output_mut(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Takes an empty buffer from the pool of the frame. [`Frame::give_buffer`] returns it for reuse.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Clears `buffer` and adds it to the pool of the frame, for [`Frame::take_buffer`]. The memory of a large buffer
    /// is freed.
    pub fn give_buffer(&mut self, mut buffer: Vec<u8>) {
        clear_bounded(&mut buffer);
        self.spare.push(buffer);
    }
}

fn clear_bounded(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > MAX_REUSED_CAPACITY {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_stay_unset_when_the_count_of_requests_wraps() {
        let mut frame = Frame::new();
        frame.assign(2, b"first");
        frame.generation = u32::MAX;
        frame.reset();
        assert_eq!(frame.generation, 1);
        assert!(!frame.is_set(2));
        assert_eq!(frame.slot(2), b"");
    }

    #[test]
    fn large_buffers_are_not_retained() {
        let mut frame = Frame::new();
        frame.output_mut().resize(MAX_REUSED_CAPACITY * 2, b'x');
        frame.reset();
        assert_eq!(frame.output.capacity(), 0);
        let mut buffer = frame.take_buffer();
        buffer.extend_from_slice(&[b'x'; 100]);
        frame.give_buffer(buffer);
        assert!(frame.take_buffer().capacity() >= 100, "a usual buffer is used again");
    }

    #[test]
    fn depth_is_bounded_and_comes_back() {
        let mut frame = Frame::new();
        for _ in 0..MAX_DEPTH {
            frame.enter("x").unwrap();
        }
        assert!(frame.enter("x").is_err());
        frame.leave();
        frame.enter("x").unwrap();
    }
}
