//! Compiled form of `more_set_headers` and `more_clear_headers`.

use myriad_conf::settings::Settings;
use myriad_script::Template;

use super::settings::{FieldChange, HeaderChange, MoreHeadersSettings, ResponseHeaderEdit};
use myriad_exchange::exchange::{ContentResponse, HeadEdit};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::media_types::TypeSet;

/// Name of the field `Content-Type`: it is changed before the filters, because they read it.
const CONTENT_TYPE: &[u8] = b"content-type";

/// Conditions under which a directive applies to a response (`-s`, `-t`).
#[derive(Default)]
pub(super) struct ResponseConditions {
    /// Statuses of responses to which the directive applies (`-s`); empty for any.
    statuses: Box<[u16]>,
    /// Media types of responses to which the directive applies (`-t`); `None` for any.
    types: Option<TypeSet>,
}

impl ResponseConditions {
    fn of(edit: &ResponseHeaderEdit) -> Self {
        let types = (!edit.types.is_empty()).then(|| TypeSet::new(&edit.types));
        Self { statuses: edit.statuses.as_slice().into(), types }
    }

    fn is_always(&self) -> bool {
        self.statuses.is_empty() && self.types.is_none()
    }

    /// Returns whether the conditions match a response that is sent with this status.
    pub(super) fn covers(&self, status: u16, answer: &ContentResponse) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&status))
            && self.types.as_ref().is_none_or(|types| types.contains(answer.bare_media_type()))
    }
}

/// Names of the response fields to remove.
#[derive(Default)]
pub(super) struct RemovedNames {
    /// Complete names of removed fields, in lower case.
    whole: Vec<Vec<u8>>,
    /// Beginnings of the names of removed fields, in lower case (`X-Hidden-*`).
    beginnings: Vec<Vec<u8>>,
    /// Lengths of the names in `whole` as a set of bits: bit N is set if a name has N bytes. Names are compared with a
    /// line only if the colon of the line is at one of these positions.
    lengths: u64,
    /// Set if a name in `whole` has 64 bytes or more, for which there is no bit.
    has_long: bool,
}

impl RemovedNames {
    fn add(&mut self, name: &[u8]) {
        let name = name.to_ascii_lowercase();
        if let Some(beginning) = name.strip_suffix(b"*") {
            self.beginnings.push(beginning.to_vec());
        } else if !self.whole.contains(&name) {
            match name.len() {
                length @ ..64 => self.lengths |= 1 << length,
                _ => self.has_long = true,
            }
            self.whole.push(name);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.beginnings.is_empty()
    }

    /// Returns whether the line `name: value` is removed.
    pub(super) fn cover(&self, line: &[u8]) -> bool {
        let mut lengths = self.lengths;
        while lengths != 0 {
            let length = lengths.trailing_zeros() as usize;
            lengths &= lengths - 1;
            if line.get(length) == Some(&b':') && self.holds(&line[..length]) {
                return true;
            }
        }
        self.has_long && line.split(|byte| *byte == b':').next().is_some_and(|name| self.holds(name))
            || self.beginnings.iter().any(|known| begins(line, known))
    }

    fn holds(&self, name: &[u8]) -> bool {
        self.whole.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

fn begins(line: &[u8], beginning: &[u8]) -> bool {
    line.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// Lines that are added to the head of a response.
pub(super) enum AddedLine {
    /// Complete lines that are the same for every response.
    Fixed(Vec<u8>),
    /// `name: `, and a value that is evaluated for each response; a line with an empty value is omitted.
    Made(Vec<u8>, Template),
}

/// Changes that are applied in one step: lines are removed, then lines are added.
#[derive(Default)]
pub(super) struct HeaderChanges {
    /// Conditions under which the changes apply.
    pub(super) when: ResponseConditions,
    /// Names of the response fields to remove.
    pub(super) out: RemovedNames,
    /// Header lines that are added after the removals.
    pub(super) lines: Vec<AddedLine>,
}

impl HeaderChanges {
    /// Adds the change of one field. If the change removes or replaces the field, lines of the field that earlier
    /// changes added are dropped.
    fn change(&mut self, compiler: &mut dyn SettingsCompiler, change: &FieldChange) {
        let name = &change.name;
        let (value, replaces) = match &change.change {
            HeaderChange::Set(value) => (Some(value), true),
            HeaderChange::Add(value) => (Some(value), false),
            HeaderChange::Clear => (None, true),
        };
        if replaces {
            self.out.add(name);
            let mut own = RemovedNames::default();
            own.add(name);
            self.lines.retain(|line| !own.cover(line.text()));
        }
        let Some(value) = value else { return };
        let template = compiler.answer_template(value);
        let line = match template.as_static() {
            Some([]) => return,
            Some(value) => AddedLine::Fixed([name, &b": "[..], value, b"\r\n"].concat()),
            None => AddedLine::Made([name, &b": "[..]].concat(), template),
        };
        self.lines.push(line);
    }

    /// Returns the changes with adjacent constant lines joined into one text.
    fn joined(mut self) -> Self {
        let mut lines: Vec<AddedLine> = Vec::with_capacity(self.lines.len());
        for line in self.lines.drain(..) {
            match (lines.last_mut(), line) {
                (Some(AddedLine::Fixed(before)), AddedLine::Fixed(line)) => before.extend_from_slice(&line),
                (_, line) => lines.push(line),
            }
        }
        self.lines = lines;
        self
    }
}

impl AddedLine {
    /// Returns the complete line if its value is constant, otherwise only `name: `.
    fn text(&self) -> &[u8] {
        match self {
            Self::Fixed(line) | Self::Made(line, _) => line,
        }
    }
}

/// Compiled `more_set_headers` and `more_clear_headers` of a location.
pub(super) struct MoreHeaders {
    /// Media types to set, with their conditions, in order; the last that applies is effective. `None` removes the
    /// media type.
    pub(super) types: Vec<(ResponseConditions, Option<Template>)>,
    /// Changes of fields other than `Content-Type`, in order.
    pub(super) runs: Vec<HeaderChanges>,
}

/// Stores the compiled settings of a configuration level in `features`, if it has any.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let edits = &settings.feature::<MoreHeadersSettings>().edits;
    if edits.is_empty() {
        return;
    }
    let mut rules = MoreHeaders { types: Vec::new(), runs: Vec::new() };
    for edit in edits {
        let (types, others): (Vec<_>, Vec<_>) =
            edit.fields.iter().partition(|field| field.name.eq_ignore_ascii_case(CONTENT_TYPE));
        for field in types {
            let value = match &field.change {
                HeaderChange::Set(value) | HeaderChange::Add(value) => Some(compiler.answer_template(value)),
                HeaderChange::Clear => None,
            };
            rules.types.push((ResponseConditions::of(edit), value));
        }
        if others.is_empty() {
            continue;
        }
        let when = ResponseConditions::of(edit);
        let joins = when.is_always() && rules.runs.last().is_some_and(|run| run.when.is_always());
        if !joins {
            rules.runs.push(HeaderChanges { when, ..HeaderChanges::default() });
        }
        let run = rules.runs.last_mut().expect("a run was pushed if none could be joined");
        for field in others {
            run.change(compiler, field);
        }
    }
    rules.runs = rules.runs.into_iter().map(HeaderChanges::joined).collect();
    features.insert::<Box<dyn HeadEdit>>(Box::new(rules));
}
