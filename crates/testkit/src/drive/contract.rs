//! [`Contract`]: checks that an engine and its driver keep the contract that is documented on
//! [`Engine`]. It owns what each side owes the other; pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use bergamot_engine::{ConnectionId, DiskTrouble, Engine, ErrandId, Event, Now, Order, Ticket};
use bergamot_queue::FileKey;
use bergamot_types::JobId;

use crate::violation::{Checked, violated};

/// What was ordered and not answered, by kind.
#[derive(Debug, Default)]
pub struct Contract {
    last_time: Option<Instant>,
    last_id: u64, // of tickets and connections, which are counted together
    connections: BTreeMap<ConnectionId, Connection>,
    tickets: BTreeMap<Ticket, State>,
    finishing: BTreeSet<FileKey>,
    processing: BTreeSet<JobId>,
    failed: BTreeSet<JobId>,
    persisting: BTreeSet<u64>,
    last_record: u64,
    wanted_errands: BTreeSet<ErrandId>,
    errands: BTreeMap<ErrandId, Errand>,
    probes: BTreeSet<JobId>,
}

#[derive(Debug, Default)]
struct Connection {
    is_ready: bool,
    is_closing: bool,
    asked: VecDeque<Ticket>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Asked {
        connection: ConnectionId,
        admitted: bool,
    },
    /// It has to be written or discarded before the next event.
    Decoded,
    Questioned {
        connection: ConnectionId,
    },
    Writing,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Errand {
    Recalled,
    Running,
}

impl Contract {
    /// Before the engine is told of it.
    pub fn on_event(&mut self, now: Now, event: &Event) -> Checked {
        if self.last_time.replace(now.instant).is_some_and(|last| now.instant < last) {
            return violated!(
                "the driver tells {event:?} of an earlier time than the event before"
            );
        }
        match event {
            Event::Connected { connection } => match self.connections.get_mut(connection) {
                Some(known) if !known.is_ready => known.is_ready = true,
                _ => return violated!("the driver connects {connection} twice or unasked"),
            },
            Event::Ended { connection, unanswered, .. } => {
                return self.on_ended(*connection, unanswered);
            }
            Event::CreditReturned { connection, .. } | Event::CreditWanted { connection } => {
                if !self.connections.contains_key(connection) {
                    return violated!("the driver tells of credit of {connection}, which is gone");
                }
            }
            Event::Fetched { ticket, .. } => {
                let state = self.take_answered(*ticket, "a body")?;
                if matches!(state, Some(State::Asked { admitted: false, .. })) {
                    return violated!("the driver reads the body of {ticket:?} without Admit");
                }
                self.tickets.insert(*ticket, State::Decoded);
            }
            Event::Missing { ticket } | Event::Refused { ticket } => {
                self.take_answered(*ticket, "an answer")?;
            }
            Event::Present { ticket } => {
                let state = self.take_answered(*ticket, "an answer")?;
                if matches!(state, Some(State::Asked { .. })) {
                    return violated!("the driver answers Fetch {ticket:?} with Present");
                }
            }
            Event::Progress { ticket, .. } => {
                if ticket.0 > self.last_id {
                    return violated!("the driver tells of progress of the unknown {ticket:?}");
                }
            }
            Event::Written { ticket, .. } => match self.tickets.remove(ticket) {
                Some(State::Writing) => {}
                other => {
                    return violated!("the driver tells that {ticket:?} is written: {other:?}");
                }
            },
            // A file for which room can never be reserved is reported without an order to finish it.
            Event::FileFinished { file, result } => {
                if !self.finishing.remove(file) && *result != Err(DiskTrouble::Permanent) {
                    return violated!("the driver finishes {file:?} without an order");
                }
            }
            Event::JobProcessed { job, .. } => {
                if !self.processing.remove(job) {
                    return violated!("the driver has processed job {job} twice or unasked");
                }
            }
            Event::JobAdded(job) => {
                if self.failed.contains(&job.id) {
                    return violated!("the driver adds job {} again before its removal", job.id);
                }
            }
            Event::JobRemoved(job) => {
                self.failed.remove(job);
                self.processing.remove(job);
            }
            Event::Persisted { number, .. } => {
                if !self.persisting.remove(number) {
                    return violated!("the driver persists records {number} twice or unasked");
                }
            }
            Event::ErrandWanted { errand, .. } => _ = self.wanted_errands.insert(*errand),
            Event::ErrandDropped(errand) => _ = self.wanted_errands.remove(errand),
            Event::ErrandConnected(errand) => {
                if !self.errands.contains_key(errand) {
                    return violated!("the driver connects {errand:?}, which does not run");
                }
            }
            Event::ErrandEnded { errand, .. } => {
                if self.errands.remove(errand).is_none() {
                    return violated!("the driver ends {errand:?}, which does not run");
                }
            }
            Event::ProbeWanted { job, .. } => _ = self.probes.insert(*job),
            Event::ProbeDropped(job) => _ = self.probes.remove(job),
            Event::DiskReturned
            | Event::DownloadPaused
            | Event::DownloadResumed
            | Event::FileDropped(_)
            | Event::FilePaused(_)
            | Event::FileResumed(_)
            | Event::FilesAdded { .. }
            | Event::FilesOrdered { .. }
            | Event::JobPaused(_)
            | Event::JobPlaced { .. }
            | Event::JobResumed(_)
            | Event::RateChanged(_)
            | Event::ServerProbeWanted(_)
            | Event::SettingsChanged(_)
            | Event::StateUnwritable
            | Event::StateWritable
            | Event::Timeout => {}
        }
        Ok(())
    }

    /// Before it is carried out.
    pub fn on_order(&mut self, engine: &Engine, order: &Order) -> Checked {
        match order {
            Order::Admit { connection, ticket, .. } => match self.tickets.get_mut(ticket) {
                Some(State::Asked { connection: asked, admitted: admitted @ false })
                    if asked == connection =>
                {
                    *admitted = true;
                }
                other => return violated!("the engine admits {ticket:?}, which is {other:?}"),
            },
            Order::Connect { connection, .. } => {
                self.on_new_id(connection.0, order)?;
                self.connections.insert(*connection, Connection::default());
            }
            Order::Disconnect { connection } => match self.connections.get_mut(connection) {
                Some(known) if !known.is_closing => known.is_closing = true,
                _ => {
                    return violated!(
                        "the engine disconnects {connection}, which is gone or going"
                    );
                }
            },
            Order::Fetch { connection, ticket, .. } => {
                self.on_request(order, *connection, *ticket)?;
                let asked = State::Asked { connection: *connection, admitted: false };
                self.tickets.insert(*ticket, asked);
                let known = self.connections.entry(*connection).or_default();
                known.asked.push_back(*ticket);
                let most = engine.settings().pipeline;
                if known.asked.len() > most {
                    return violated!("the engine asks {connection} for more than {most} articles");
                }
            }
            Order::Stat { connection, ticket, .. } => {
                self.on_request(order, *connection, *ticket)?;
                self.tickets.insert(*ticket, State::Questioned { connection: *connection });
            }
            Order::Lend { connection, .. } | Order::Revoke { connection } => {
                if !self.connections.get(connection).is_some_and(|known| known.is_ready) {
                    return violated!(
                        "the engine gives {order:?} to a connection that is not open"
                    );
                }
            }
            Order::Discard { ticket } => match self.tickets.remove(ticket) {
                Some(State::Decoded) => {}
                other => return violated!("the engine discards {ticket:?}, which is {other:?}"),
            },
            Order::Write { ticket, file, .. } => {
                self.on_work(file.job, order)?;
                if self.tickets.insert(*ticket, State::Writing) != Some(State::Decoded) {
                    return violated!("the engine writes {ticket:?}, which has not come");
                }
            }
            Order::Reserve { file, .. } => self.on_work(file.job, order)?,
            Order::FinishFile { file, .. } => {
                self.on_work(file.job, order)?;
                if !self.finishing.insert(*file) {
                    return violated!("the engine finishes {file:?} twice");
                }
            }
            Order::JobDownloaded { job, .. } => {
                self.on_work(*job, order)?;
                if !self.processing.insert(*job) {
                    return violated!("the engine has downloaded job {job} twice");
                }
            }
            Order::FailJob { job, .. } => {
                if !self.failed.insert(*job) {
                    return violated!("the engine fails job {job} twice");
                }
            }
            Order::DeleteFiles { job } => {
                if !self.failed.contains(job) {
                    return violated!(
                        "the engine deletes files of job {job}, which has not failed"
                    );
                }
            }
            Order::Persist { number, .. } => {
                if *number <= std::mem::replace(&mut self.last_record, *number) {
                    return violated!("the engine persists records {number} behind newer ones");
                }
                self.persisting.insert(*number);
                if self.persisting.len() > MOST_RECORDS {
                    return violated!("{} records are on their way", self.persisting.len());
                }
            }
            Order::StartErrand { errand, .. } => {
                let is_wanted = self.wanted_errands.remove(errand);
                if !is_wanted || self.errands.insert(*errand, Errand::Running).is_some() {
                    return violated!("the engine starts {errand:?} unasked or twice");
                }
            }
            Order::RecallErrand { errand } => {
                if self.errands.insert(*errand, Errand::Recalled) != Some(Errand::Running) {
                    return violated!("the engine recalls {errand:?}, which does not run");
                }
            }
            Order::Probed { job, .. } => {
                if !self.probes.remove(job) {
                    return violated!("the engine answers a probe of job {job} that is not wanted");
                }
            }
            Order::Note(_) | Order::Tell(_) => {}
        }
        Ok(())
    }

    /// The engine has no more orders.
    pub fn on_polled(&mut self) -> Checked {
        match self.tickets.iter().find(|(_, state)| **state == State::Decoded) {
            None => Ok(()),
            Some((ticket, _)) => violated!("the engine neither writes nor discards {ticket:?}"),
        }
    }

    /// Nothing more will be told.
    pub fn check_end(&self) -> Checked {
        if let Some(job) = self.failed.first() {
            return violated!("the driver does not answer FailJob of {job} with JobRemoved");
        }
        if let Some(job) = self.processing.first() {
            return violated!(
                "the driver does not answer JobDownloaded of {job} with JobProcessed"
            );
        }
        match self.tickets.first_key_value() {
            Some((ticket, state)) => violated!("{ticket:?} is still {state:?}"),
            None => Ok(()),
        }
    }

    /// What it was asked and has not answered goes back to the engine; a body that was read before may
    /// still be told of.
    fn on_ended(&mut self, connection: ConnectionId, unanswered: &[Ticket]) -> Checked {
        if self.connections.remove(&connection).is_none() {
            return violated!("the driver ends {connection} twice or unasked");
        }
        let of_connection = |state: &State| match state {
            State::Asked { connection: asked, .. } | State::Questioned { connection: asked } => {
                *asked == connection
            }
            State::Decoded | State::Writing => false,
        };
        for ticket in unanswered {
            if !self.tickets.get(ticket).is_some_and(of_connection) {
                return violated!("the driver gives {ticket:?} back with {connection}");
            }
        }
        self.tickets.retain(|_, state| !of_connection(state));
        Ok(())
    }

    /// An answer for a ticket whose connection has ended is late, and is ignored by the engine.
    fn take_answered(
        &mut self,
        ticket: Ticket,
        what: &str,
    ) -> Result<Option<State>, crate::Violation> {
        if ticket.0 > self.last_id {
            return violated!("the driver tells of {what} to the unknown {ticket:?}");
        }
        let state = self.tickets.get(&ticket).copied();
        match state {
            Some(State::Decoded | State::Writing) => {
                return violated!("the driver tells of {what} to {ticket:?} twice");
            }
            Some(State::Asked { connection, .. }) => {
                let known = self.connections.entry(connection).or_default();
                if known.asked.pop_front() != Some(ticket) {
                    return violated!("the driver answers {ticket:?} out of turn");
                }
            }
            Some(State::Questioned { .. }) | None => {}
        }
        self.tickets.remove(&ticket);
        Ok(state)
    }

    fn on_request(&mut self, order: &Order, connection: ConnectionId, ticket: Ticket) -> Checked {
        self.on_new_id(ticket.0, order)?;
        match self.connections.get(&connection) {
            Some(known) if known.is_ready && !known.is_closing => Ok(()),
            known => violated!("the engine asks {connection}, which is {known:?}"),
        }
    }

    fn on_new_id(&mut self, id: u64, order: &Order) -> Checked {
        if id <= self.last_id {
            return violated!("the engine uses the number of {order:?} again");
        }
        self.last_id = id;
        Ok(())
    }

    /// A job that is downloaded gets no more orders, and one that has failed none but to delete its files.
    fn on_work(&self, job: JobId, order: &Order) -> Checked {
        match self.failed.contains(&job) || self.processing.contains(&job) {
            false => Ok(()),
            true => violated!("the engine orders {order:?} of a job that is downloaded or failed"),
        }
    }
}

/// As many records may be on their way to the disk.
const MOST_RECORDS: usize = 4;

#[cfg(test)]
mod tests {
    use bergamot_engine::{Settings, Trouble};
    use bergamot_types::UnixTime;

    use super::*;

    fn told(events: &[Event]) -> Checked {
        let now = Now { instant: Instant::now(), date: UnixTime(0) };
        let mut contract = Contract::default();
        events.iter().try_for_each(|event| contract.on_event(now, event))
    }

    #[test]
    fn a_driver_that_answers_what_was_not_ordered_breaks_it() {
        let (connection, ticket, job) = (ConnectionId(1), Ticket(2), JobId(1));
        assert!(told(&[Event::Timeout, Event::DiskReturned]).is_ok());
        for event in [
            Event::Connected { connection },
            Event::Ended { connection, trouble: Trouble::Closed, unanswered: Vec::new() },
            Event::Missing { ticket },
            Event::Written { ticket, result: Ok(()) },
            Event::JobProcessed { job, result: Ok(()) },
            Event::Persisted { number: 1, result: Ok(()) },
        ] {
            assert!(told(&[event]).is_err());
        }
    }

    #[test]
    fn a_failed_job_has_to_be_removed_and_gets_no_more_orders() {
        let engine = Engine::new(Instant::now(), Settings::default());
        let now = Now { instant: Instant::now(), date: UnixTime(0) };
        let (job, failure) = (JobId(1), bergamot_engine::Failure::Disk);
        let mut contract = Contract::default();
        assert_eq!(contract.on_order(&engine, &Order::FailJob { job, failure }), Ok(()));
        assert!(contract.check_end().is_err(), "it is not removed");
        assert!(contract.on_order(&engine, &Order::JobDownloaded { job, verified: true }).is_err());
        assert_eq!(contract.on_event(now, &Event::JobRemoved(job)), Ok(()));
        assert_eq!(contract.check_end(), Ok(()));
    }
}
