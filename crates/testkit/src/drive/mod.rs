//! [`Driver`]: the one place in tests and benchmarks that carries out the orders of an [`Engine`].
//! It owns the engine, the time and the three parts that orders go to; single-threaded.
//!
//! - [`Servers`]: connections, requests, read credit. The simulator has models and real
//!   conversations, the fixtures have rules or a test's own calls
//! - [`Disk`]: writes, files, records, and what follows a download
//! - [`Host`]: what is above the engine: jobs that end, notices, errands, probes
//! - [`Contract`]: checks after every event and every order that both sides keep the contract of
//!   [`Engine`]
//!
//! A part answers at once by [`Context::answer`], or later by a call of [`Driver::tell`].

mod contract;
mod disk;
mod host;
mod servers;

use std::collections::VecDeque;

use bergamot_engine::{Engine, Event, Now, Order};

use crate::violation::{Checked, Violation};

pub use contract::Contract;
pub use disk::Disk;
pub use host::Host;
pub use servers::{Fetch, Servers};

/// Tells an engine events and carries out its orders.
#[derive(Debug)]
pub struct Driver<S, D, H> {
    pub engine: Engine,
    pub servers: S,
    pub disk: D,
    pub host: H,
    pub now: Now,
    contract: Option<Contract>,
}

/// What a part sees while it carries out an order.
#[derive(Debug)]
pub struct Context<'a> {
    pub now: Now,
    pub engine: &'a Engine,
    answers: &'a mut VecDeque<Event>,
    violation: &'a mut Option<Violation>,
}

impl Context<'_> {
    /// Told to the engine when it has no more orders, before [`Driver::tell`] returns.
    pub fn answer(&mut self, event: Event) {
        self.answers.push_back(event);
    }

    /// The order must not have been given.
    pub fn violate(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }
}

impl<S: Servers, D: Disk<S::Body>, H: Host> Driver<S, D, H> {
    pub fn new(engine: Engine, now: Now, servers: S, disk: D, host: H) -> Self {
        Self { engine, servers, disk, host, now, contract: Some(Contract::default()) }
    }

    /// For benchmarks: the checks would be counted, too.
    pub fn unchecked(self) -> Self {
        Self { contract: None, ..self }
    }

    /// Another engine, as after a restart: it owes nothing of what the last one was asked.
    pub fn restart(&mut self, engine: Engine, servers: S) {
        (self.engine, self.servers) = (engine, servers);
        self.contract = self.contract.take().map(|_| Contract::default());
    }

    /// Tells the event and all that is answered at once; panics where the contract is broken.
    pub fn tell(&mut self, event: Event) {
        self.try_tell(event).unwrap_or_else(|violation| panic!("{violation}"));
    }

    pub fn try_tell(&mut self, event: Event) -> Checked {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.tell_one(event, &mut events)?;
        }
        Ok(())
    }

    /// Nothing more will be told: all that had to be answered is.
    pub fn check_end(&self) -> Checked {
        self.contract.as_ref().map_or(Ok(()), Contract::check_end)
    }

    fn tell_one(&mut self, event: Event, answers: &mut VecDeque<Event>) -> Checked {
        self.host.on_event(self.now, &event)?;
        if let Some(contract) = &mut self.contract {
            contract.on_event(self.now, &event)?;
        }
        if let Event::JobRemoved(job) = event {
            self.disk.forget_job(self.now, job);
        }
        self.engine.handle(self.now, event);
        self.host.on_handled(&self.engine)?;
        while let Some(order) = self.engine.poll_order() {
            self.host.on_order(self.now, &order)?;
            if let Some(contract) = &mut self.contract {
                contract.on_order(&self.engine, &order)?;
            }
            self.carry_out(order, answers)?;
        }
        if let Some(contract) = &mut self.contract {
            contract.on_polled()?;
        }
        self.host.on_polled(self.now, &self.engine)
    }

    fn carry_out(&mut self, order: Order, answers: &mut VecDeque<Event>) -> Checked {
        let mut violation = None;
        let cx = &mut Context {
            now: self.now,
            engine: &self.engine,
            answers,
            violation: &mut violation,
        };
        match order {
            Order::Admit { connection, ticket, reserve } => {
                self.servers.admit(cx, connection, ticket, reserve as u64);
            }
            Order::Connect { connection, server } => self.servers.connect(cx, connection, server),
            Order::DeleteFiles { job } => self.host.delete_files(cx, job),
            Order::Discard { ticket } => self.servers.discard(ticket),
            Order::Disconnect { connection } => self.servers.disconnect(cx, connection),
            Order::FailJob { job, failure } => self.host.job_failed(cx, job, failure),
            Order::Fetch { connection, ticket, id, limit, patience, hedge, control, .. } => {
                let limit = limit.0;
                let fetch = Fetch { connection, ticket, id, limit, patience, hedge, control };
                self.servers.fetch(cx, fetch);
            }
            Order::FinishFile { file, layout } => self.disk.finish_file(cx, file, layout),
            Order::JobDownloaded { job, verified } => self.disk.process_job(cx, job, verified),
            Order::Lend { connection, credit } => self.servers.lend(cx, connection, credit),
            Order::Note(note) => self.disk.note(cx, note),
            Order::Persist { number, records } => self.disk.persist(cx, number, records),
            Order::Probed { job, census } => self.host.probed(cx, job, census),
            Order::RecallErrand { errand } => self.host.recall_errand(cx, errand),
            Order::Reserve { file, size } => self.disk.reserve(cx, file, size),
            Order::Revoke { connection } => self.servers.revoke(cx, connection),
            Order::StartErrand { errand, server } => self.host.start_errand(cx, errand, server),
            Order::Stat { connection, ticket, id } => {
                self.servers.stat(cx, connection, ticket, id);
            }
            Order::Tell(notice) => self.host.notice(cx, notice),
            Order::Write { ticket, file, offset } => {
                let body = self.servers.take_body(ticket);
                self.disk.write(cx, ticket, file, offset, body);
            }
        }
        violation.map_or(Ok(()), Err)
    }
}
