//! Tests of responses, step by step.

mod added;
mod coding;
mod conditions;
mod connection;
mod explained;
mod head;
mod parts;
