//! Application of `more_set_headers` and `more_clear_headers` to a response.

use std::borrow::Cow;

use myriad_log::LogLevel;
use myriad_net::ResponseText;
use myriad_script::{Frame, Template};

use super::rules::{AddedLine, HeaderChanges, MoreHeaders};
use myriad_exchange::exchange::{ContentResponse, Exchange, HeadEdit, Request};

impl HeadEdit for MoreHeaders {
    fn set_media_type(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        for (when, media_type) in &self.types {
            if !when.covers(answer.status, answer) {
                continue;
            }
            let Exchange { request, frame } = &mut *exchange;
            let value = match media_type {
                Some(template) => evaluated(request, frame, template),
                None => Some(Vec::new()),
            };
            if let Some(value) = value {
                answer.without(&[b"content-type"]);
                answer.media_type = Some(Cow::Owned(value));
            }
        }
    }

    fn edit(
        &self,
        request: &mut Request,
        frame: &mut Frame,
        (answer, status): (&ContentResponse, u16),
        head: &mut ResponseText,
    ) {
        for run in self.runs.iter().filter(|run| run.when.covers(status, answer)) {
            // The values are evaluated before fields are removed, because values may read these fields.
            let values = values(request, frame, run, head);
            if !run.out.is_empty() {
                head.retain(|line| !run.out.cover(line));
            }
            let mut values = values.into_iter();
            for line in &run.lines {
                match line {
                    AddedLine::Fixed(lines) => head.append_lines(lines),
                    AddedLine::Made(name, _) => {
                        if let Some(value) = values.next().flatten().filter(|value| !value.is_empty()) {
                            let text = head.text_mut();
                            text.extend_from_slice(name);
                            text.extend_from_slice(&value);
                            text.extend_from_slice(b"\r\n");
                        }
                    }
                }
            }
        }
    }
}

/// Evaluates the values of the lines that depend on the response, in order; `None` for a value that cannot be
/// evaluated.
fn values(
    request: &mut Request,
    frame: &mut Frame,
    run: &HeaderChanges,
    head: &ResponseText,
) -> Vec<Option<Vec<u8>>> {
    let mut values = Vec::new();
    for line in &run.lines {
        let AddedLine::Made(_, template) = line else { continue };
        if values.is_empty() && request.site.runtime.reads_sent_fields {
            request.outcome.head.fields.clear();
            request.outcome.head.fields.extend_from_slice(head.fields());
        }
        values.push(evaluated(request, frame, template));
    }
    values
}

/// Evaluates the value of a field; `None` if that fails, which is logged. The response itself is valid.
fn evaluated(request: &mut Request, frame: &mut Frame, template: &Template) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    match template.eval(request, frame, &mut value) {
        Ok(()) => {
            value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
            Some(value)
        }
        Err(error) => {
            request.log(LogLevel::Error, format_args!("more_set_headers: {error}"));
            None
        }
    }
}
