//! Tests of responses, step by step.

mod added_fields;
mod coding;
mod conditions;
mod connection;
mod explanation;
mod head;
mod ranges;
