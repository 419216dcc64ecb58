//! [`Network`]: the configured servers, the open connections and the articles they have decoded. Owned by
//! the main loop; each connection is a task of its own.

use std::collections::{HashMap, HashSet};

use bergamot_engine::{ConnectionId, Ticket};
use bergamot_net::{Buffer, BufferPool, Connection};
use bergamot_types::ServerId;

use crate::download::outages::Outages;
use crate::newsgroups::connections::Errands;
use crate::servers::Servers;

pub(crate) struct Network {
    pub(crate) servers: Servers,
    pub(crate) connections: HashMap<ConnectionId, OpenConnection>,
    /// Their first greeting is logged.
    pub(crate) greeted: HashSet<ServerId>,
    /// They answered 412 to articles, which is logged once.
    pub(crate) group_wanters: HashSet<ServerId>,
    /// The last error of each server.
    pub(crate) troubles: HashMap<ServerId, String>,
    pub(crate) outages: Outages,
    pub(crate) pool: BufferPool,
    /// Until the engine orders them written or discarded.
    pub(crate) decoded: HashMap<Ticket, Buffer>,
    pub(crate) errands: Errands,
}

pub(crate) struct OpenConnection {
    pub(crate) handle: Connection,
    pub(crate) server: ServerId,
    pub(crate) ready: bool,
}

impl Network {
    pub(crate) fn new(servers: Servers, pool: BufferPool) -> Self {
        Self {
            servers,
            connections: HashMap::new(),
            greeted: HashSet::new(),
            group_wanters: HashSet::new(),
            troubles: HashMap::new(),
            outages: Outages::default(),
            pool,
            decoded: HashMap::new(),
            errands: Errands::default(),
        }
    }
}
