//! Threads that obtain ACME certificates (one agent per issuer) and refresh OCSP responses; they survive reloads.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_log::ErrorLog;
use myriad_tls::acme_client::{AcmeAgent, AgentCallbacks, LogCallback, StapleUpdater, StapleWithResolver};
use myriad_tls::{PlannedIssuer, resolve};

use myriad_exchange::runtime::{AcmePlan, PlannedStaple};
use myriad_exchange::state_storage::SharedStateStorage;

/// Running ACME agents by issuer name, and the thread that fetches OCSP responses.
#[derive(Default)]
pub(crate) struct AcmeAgents {
    running: HashMap<String, AcmeAgent>,
    stapler: Option<StapleUpdater>,
}

impl AcmeAgents {
    /// Starts, updates or stops agents for a configuration; `None` stops all. An agent whose issuer is unchanged
    /// continues its work, with the new certificates; an issuer that no server uses gets no new agent. Returns an error
    /// if a thread cannot be started.
    pub(crate) fn apply_plan(
        &mut self,
        plan: Option<&AcmePlan>,
        keeper: &SharedStateStorage,
    ) -> std::io::Result<()> {
        let mut before = std::mem::take(&mut self.running);
        let Some(plan) = plan else { return Ok(()) };
        for planned in &plan.issuers {
            let name = planned.issuer.name.clone();
            let outside = agent_environment(plan, planned, keeper);
            let known = before.remove(&name).filter(|agent| agent.is_for(&planned.issuer));
            if let Some(agent) = known {
                agent.set(planned.slots.clone(), outside);
                self.running.insert(name, agent);
            } else if !planned.slots.is_empty() {
                let agent = AcmeAgent::start(
                    planned.issuer.clone(),
                    planned.slots.clone(),
                    planned.account.clone(),
                    Arc::clone(&plan.challenges),
                    outside,
                )?;
                self.running.insert(name, agent);
            }
        }
        Ok(())
    }

    /// Starts or updates the thread that refreshes OCSP responses; stops it if `planned` is empty. Returns an error if
    /// the thread cannot be started.
    pub(crate) fn refresh_staples(
        &mut self,
        planned: &[PlannedStaple],
        log: &ErrorLog,
    ) -> std::io::Result<()> {
        if planned.is_empty() {
            self.stapler = None;
            return Ok(());
        }
        let log = log.clone();
        let log: LogCallback =
            Arc::new(move |level, message| log.write(level, None, format_args!("{message}")));
        let stapler = match self.stapler.take() {
            Some(stapler) => stapler,
            None => StapleUpdater::start(Arc::clone(&log))?,
        };
        let stapled = planned.iter().map(|planned| StapleWithResolver {
            staple: Arc::clone(&planned.staple),
            resolve: resolve(planned.resolver.clone()),
        });
        stapler.set(stapled.collect(), log);
        self.stapler = Some(stapler);
        Ok(())
    }

    /// Stops all agents and the refresh of OCSP responses. Work in progress is cancelled.
    pub(crate) fn stop(&mut self) {
        self.running.clear();
        self.stapler = None;
    }
}

fn agent_environment(
    plan: &AcmePlan,
    planned: &PlannedIssuer,
    keeper: &SharedStateStorage,
) -> AgentCallbacks {
    let log = plan.log.clone();
    let (keeper, state) = (keeper.clone(), planned.state.clone());
    AgentCallbacks {
        log: Arc::new(move |level, message| log.write(level, None, format_args!("{message}"))),
        store: Arc::new(move |name, bytes| {
            if let Some(folder) = &state {
                keeper.save_file(&folder.join(name), bytes);
            }
        }),
        resolve: resolve(plan.resolver.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_without_certificates_has_no_agents() {
        let mut agents = AcmeAgents::default();
        agents.refresh_staples(&[], &ErrorLog::new(Vec::new())).expect("no thread is needed");
        assert!(agents.running.is_empty() && agents.stapler.is_none());
        agents.stop();
    }
}
