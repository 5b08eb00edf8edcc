//! Answers of the server's own, keys, and requests that others cause, at whole sites.

mod answers;
mod keys;
mod parts;
