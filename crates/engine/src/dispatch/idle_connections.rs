//! [`IdleConnections`]: the connections that can take one more request, in the order in which they get
//! one. Pure; built anew for each event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bergamot_types::ServerId;

use crate::order::ConnectionId;

/// Gathered once for all that is handed out after an event.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    servers: Vec<ServerConnections>,
    last: usize, // connections of one server mostly come in a row
}

#[derive(Debug)]
struct ServerConnections {
    server: ServerId,
    /// How many requests each of its connections should have under way.
    depth: usize,
    /// The shortest line first.
    lines: BinaryHeap<Reverse<(usize, ConnectionId)>>,
}

/// One of them, and how much it has to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct IdleConnection {
    place: usize,
    pub(crate) connection: ConnectionId,
    length: usize,
}

impl IdleConnections {
    /// A connection, if its line is not as long as it should be; `depth` is asked once for each server.
    pub(crate) fn add(
        &mut self,
        server: ServerId,
        connection: ConnectionId,
        length: usize,
        depth: impl FnOnce() -> usize,
    ) {
        let place = self.place_of(server, depth);
        if length < self.servers[place].depth {
            self.servers[place].lines.push(Reverse((length, connection)));
        }
    }

    /// Those with least to do first, and among those by the turns of their servers.
    pub(crate) fn next(&mut self, turn: impl Fn(ServerId) -> u64) -> Option<IdleConnection> {
        let firsts = self.servers.iter().enumerate().filter_map(|(place, server)| {
            let Reverse((length, connection)) = *server.lines.peek()?;
            Some((length, turn(server.server), connection, place))
        });
        let (length, _, connection, place) = firsts.min()?;
        self.servers[place].lines.pop();
        Some(IdleConnection { place, connection, length })
    }

    /// It was asked for one article more.
    pub(crate) fn on_given(&mut self, connection: IdleConnection) {
        let server = &mut self.servers[connection.place];
        let length = connection.length + 1;
        if length < server.depth {
            server.lines.push(Reverse((length, connection.connection)));
        }
    }

    /// There is nothing for it, nor for those of its server that have more to do.
    pub(crate) fn on_nothing_for(&mut self, connection: IdleConnection) {
        self.servers[connection.place].lines.clear();
    }

    fn place_of(&mut self, server: ServerId, depth: impl FnOnce() -> usize) -> usize {
        let is_last = self.servers.get(self.last).is_some_and(|known| known.server == server);
        if !is_last {
            let known = self.servers.iter().position(|known| known.server == server);
            self.last = known.unwrap_or_else(|| {
                self.servers.push(ServerConnections {
                    server,
                    depth: depth(),
                    lines: BinaryHeap::new(),
                });
                self.servers.len() - 1
            });
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ServerId = ServerId(1);
    const B: ServerId = ServerId(2);

    fn idle(lines: &[(ServerId, u64, usize)], depth: usize) -> IdleConnections {
        let mut idle = IdleConnections::default();
        for &(server, connection, length) in lines {
            idle.add(server, ConnectionId(connection), length, || depth);
        }
        idle
    }

    /// Who is next, each time that the one before was given something.
    fn given(mut idle: IdleConnections, turn: impl Fn(ServerId) -> u64) -> Vec<u64> {
        let mut order = Vec::new();
        while let Some(connection) = idle.next(&turn) {
            order.push(connection.connection.0);
            idle.on_given(connection);
        }
        order
    }

    #[test]
    fn the_shortest_line_is_next_and_none_grows_too_long() {
        let lines = [(A, 1, 1), (B, 2, 0), (A, 3, 0), (B, 4, 2), (A, 5, 3)];
        assert_eq!(given(idle(&lines, 2), |_| 0), [2, 3, 1, 2, 3]);
    }

    #[test]
    fn among_equals_it_is_the_turn_of_a_server_and_then_the_older_connection() {
        let lines = [(A, 1, 0), (B, 2, 0), (A, 3, 0), (B, 4, 0)];
        assert_eq!(given(idle(&lines, 1), |server| u64::from(server == A)), [2, 4, 1, 3]);
    }

    #[test]
    fn a_server_that_is_served_has_nothing_more_coming() {
        let mut idle = idle(&[(A, 1, 0), (B, 2, 1), (A, 3, 1)], 9);
        let first = idle.next(|_| 0).expect("three could");
        idle.on_nothing_for(first);
        let second = idle.next(|_| 0).expect("the other server");
        assert_eq!((first.connection, second.connection), (ConnectionId(1), ConnectionId(2)));
        idle.on_nothing_for(second);
        assert_eq!(idle.next(|_| 0), None);
    }
}
