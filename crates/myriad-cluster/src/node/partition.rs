//! Description of a partition: its cause, its consequences, and the remedy.

use std::fmt;

use super::PartitionPolicy;
use crate::record::NodeName;

/// Reason why a node may miss purges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionCause {
    /// The node has no connection to Valkey.
    NoConnection {
        /// Addresses of Valkey, from the configuration.
        servers: String,
    },
    /// The log of purges has only entries of another secret.
    ForeignLog,
    /// Another process uses the name of this node.
    NameTaken,
    /// Members may have purges that the log does not have.
    Members {
        /// The first of these members, in the order of [`LateReason`].
        nodes: Vec<LateMember>,
        /// Number of further ones.
        more: usize,
    },
    /// The log was not read completely, or its purges are not in effect: Valkey or this node is slow.
    Slow,
}

/// Member whose purges may be missing in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateMember {
    /// Name of the member.
    pub node: NodeName,
    /// Host name of its machine; empty if it is not known.
    pub address: String,
    /// Time since its last report, in milliseconds.
    pub seen_ms_ago: u64,
    /// Reason why its purges may be missing.
    pub reason: LateReason,
}

/// Reason why purges of a member may be missing in the log. The most severe one is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LateReason {
    /// The member does not report.
    Silent,
    /// The member reports that it has purges which the log does not have.
    Unsent,
    /// The member reports, but its reports do not yet confirm that the log has all its purges: it has just joined or
    /// restarted, it is reading the log, or this node has not received its reports for a while.
    Unconfirmed,
}

/// Partition, as messages and the status describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionReport {
    /// Reason.
    pub cause: PartitionCause,
    /// Time for which this node may have missed purges, in milliseconds; `None` if it has never been up to date.
    pub behind_ms: Option<u64>,
    /// Rule for stored pages.
    pub policy: PartitionPolicy,
}

/// Writes the cause, the consequences, and the remedy.
impl fmt::Display for PartitionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.behind_ms {
            Some(ms) => write!(f, "purges of other nodes may be missing for {}: ", Seconds(ms))?,
            None => f.write_str("purges of other nodes may be missing since the start: ")?,
        }
        self.cause.fmt(f)?;
        f.write_str("; until this ends, pages are not exchanged, and ")?;
        match self.policy {
            PartitionPolicy::Serve { bound_ms } => {
                match self.behind_ms.map(|behind_ms| bound_ms.saturating_sub(behind_ms)) {
                    None => f.write_str("stored pages from before the start or ")?,
                    Some(0) => f.write_str("stored pages ")?,
                    Some(left) => write!(f, "stored pages are served; in {}, those ", Seconds(left))?,
                }
                let bound = Seconds(bound_ms);
                write!(f, "fetched more than {bound} ago are fetched again before they are used")?;
            }
            PartitionPolicy::Strict => f.write_str("stored pages are fetched again before they are used")?,
        }
        f.write_str(match &self.cause {
            PartitionCause::NoConnection { .. } => {
                "; check that this server runs and is reachable from this machine"
            }
            PartitionCause::ForeignLog => "; correct \"secret_file\" or the cluster's name",
            PartitionCause::NameTaken => "; set \"node\" to a unique name",
            PartitionCause::Members { nodes, .. } => match nodes.iter().map(|member| member.reason).min() {
                Some(LateReason::Silent) => {
                    "; start the nodes that do not report, or check their connection to Valkey; if one will not return: myriad cluster forget NODE"
                }
                Some(LateReason::Unsent) => "; the error logs of these nodes name the reason",
                Some(LateReason::Unconfirmed) | None => {
                    "; if this lasts for more than a minute, check the load of Valkey and of these nodes"
                }
            },
            PartitionCause::Slow => "; check the load of Valkey and of this machine",
        })
    }
}

impl fmt::Display for PartitionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection { servers } => write!(f, "no connection to {servers}"),
            Self::ForeignLog => f.write_str("the purge log has only entries of another cluster or secret"),
            Self::NameTaken => f.write_str("another process uses the name of this node"),
            Self::Members { nodes, more } => {
                for (index, member) in nodes.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    member.fmt(f)?;
                }
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Self::Slow => f.write_str("the purge log is read or executed too slowly"),
        }
    }
}

impl fmt::Display for LateMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.node)?;
        if !self.address.is_empty() {
            write!(f, " ({})", self.address.escape_debug())?;
        }
        let seen = Seconds(self.seen_ms_ago);
        match self.reason {
            LateReason::Silent => write!(f, " has not reported for {seen}"),
            LateReason::Unsent => f.write_str(" has purges that it could not send"),
            LateReason::Unconfirmed => {
                write!(
                    f,
                    " has reported {seen} ago, but not yet confirmed that the purge log has all its purges"
                )
            }
        }
    }
}

/// Duration in milliseconds, written in seconds, and from two minutes on in minutes.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 / 1000 {
            seconds @ ..120 => write!(f, "{seconds} s"),
            seconds => write!(f, "{} min", seconds / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_names_the_cause_the_consequence_and_the_remedy() {
        let cause = PartitionCause::NoConnection { servers: "redis://10.0.0.5:6379".to_owned() };
        let policy = PartitionPolicy::Serve { bound_ms: 600_000 };
        let mut report = PartitionReport { cause, behind_ms: Some(5001), policy };
        assert_eq!(
            report.to_string(),
            "purges of other nodes may be missing for 5 s: no connection to redis://10.0.0.5:6379; until this ends, \
             pages are not exchanged, and stored pages are served; in 9 min, those fetched more than 10 min ago are \
             fetched again before they are used; check that this server runs and is reachable from this machine"
        );
        report.behind_ms = Some(600_000);
        assert!(report.to_string().contains(", and stored pages fetched more than 10 min ago"), "{report}");
    }

    fn member_report(reasons: &[LateReason]) -> String {
        let nodes = reasons.iter().enumerate().map(|(number, &reason)| LateMember {
            node: NodeName::new(&format!("web{number}")).expect("a valid name"),
            address: "host\n1".to_owned(),
            seen_ms_ago: 6200,
            reason,
        });
        let cause = PartitionCause::Members { nodes: nodes.collect(), more: 2 };
        PartitionReport { cause, behind_ms: None, policy: PartitionPolicy::Strict }.to_string()
    }

    #[test]
    fn report_names_members_and_their_removal_only_if_one_is_silent() {
        let text = member_report(&[LateReason::Silent, LateReason::Unsent, LateReason::Unconfirmed]);
        for part in [
            "since the start: node web0 (host\\n1) has not reported for 6 s, node web1 (host\\n1) has purges that it \
             could not send, node web2 (host\\n1) has reported 6 s ago, but not yet confirmed that the purge log has \
             all its purges and 2 more;",
            "stored pages are fetched again before they are used",
            "myriad cluster forget NODE",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = member_report(&[LateReason::Unsent, LateReason::Unconfirmed]);
        assert!(text.ends_with("; the error logs of these nodes name the reason"), "{text}");
        let text = member_report(&[LateReason::Unconfirmed]);
        assert!(
            !text.contains("forget") && text.contains("; if this lasts for more than a minute"),
            "{text}"
        );
    }
}
