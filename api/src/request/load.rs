//! Load shedding: when too many requests are in flight, refuses requests without a valid key first, then bulk requests,
//! then single checks. Requests do not queue, and valid single checks are refused last.
//!
//! Every chain has as many permits as all requests without a chain have together. A check takes a permit of requests
//! without a chain until its body is read, then takes a permit of its chain and returns the former permit. Checks that
//! wait for a slow chain therefore take no permits from checks of other chains. All checks together have
//! [`CHAINS_AT_ONCE`] times as many permits as one chain, which limits the load of one server.
//!
//! Tenants share the permits: a tenant may hold at most [`SHARE`] times the number of free permits. One tenant alone
//! thus gets three quarters of the permits, many tenants get about equal shares, and a new tenant always finds a free
//! permit. A plan may set lower limits.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_address::ChainId;
use assay_request::problem::{Code, Problem};
use assay_tenancy::{Name, directory::Plan};
use axum::http::header;

/// Number of permits that a tenant may hold for each free permit.
const SHARE: usize = 3;
/// Number of tenants without a request in flight that are kept.
const MOST_IDLE: usize = 1024;
/// Number of chains whose permits can all be in use together.
const CHAINS_AT_ONCE: usize = 4;

/// Priority class of a request, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A request without a valid key.
    Unauthenticated,
    /// A request with many rows.
    Bulk,
    /// Any other request with a valid key.
    Single,
}

impl Class {
    /// Returns the name of the class in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Bulk => "bulk",
            Self::Single => "single",
        }
    }
}

/// A tenant, and the limits of its plan.
#[derive(Clone, Debug)]
pub struct TenantBounds {
    /// The tenant.
    pub tenant: Name,
    /// Largest number of the tenant's requests in flight on one server, for each chain; `None`: the tenant's share of
    /// the permits.
    pub max_in_flight: Option<usize>,
    /// Largest number of the tenant's bulk requests in flight on one server; `None`: the tenant's share of the permits.
    pub max_streams: Option<usize>,
}

impl TenantBounds {
    /// Returns the limits of a tenant on a plan.
    #[must_use]
    pub fn new(tenant: &Name, plan: &Plan) -> Self {
        let bound = |bound: Option<u32>| bound.and_then(|bound| usize::try_from(bound).ok());
        Self {
            tenant: tenant.clone(),
            max_in_flight: bound(plan.max_in_flight),
            max_streams: bound(plan.max_streams),
        }
    }
}

/// Reason for which a request gets no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShedReason {
    /// All permits of the class are in use.
    Server,
    /// The tenant holds the largest number of permits that it may hold.
    Tenant,
}

/// Permits of all requests in flight.
#[derive(Clone, Debug)]
pub struct Load {
    /// Permits of requests without a chain: their chain is not known yet, or they concern no chain or several chains.
    general: Arc<PermitPool>,
    /// Permits of checks, by their chain.
    chains: Arc<Mutex<HashMap<ChainId, Arc<PermitPool>>>>,
    /// Permits of the checks of all chains.
    checks: Arc<PermitPool>,
}

#[derive(Debug)]
struct PermitPool {
    capacity: usize,
    taken: Mutex<PermitCounts>,
}

/// Number of permits in use by all requests.
#[derive(Debug, Default)]
struct PermitCounts {
    all: Counts,
    tenants: HashMap<Name, Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    in_flight: usize,
    /// Number of bulk requests among the requests in flight.
    streams: usize,
}

impl Counts {
    const fn add(&mut self, class: Class) {
        self.in_flight += 1;
        if matches!(class, Class::Bulk) {
            self.streams += 1;
        }
    }

    const fn remove(&mut self, class: Class) {
        self.in_flight -= 1;
        if matches!(class, Class::Bulk) {
            self.streams -= 1;
        }
    }
}

impl Load {
    /// Allows at most `capacity` requests in flight, of which at most half lack a valid key, and at most three quarters
    /// are bulk requests. Allows `capacity` checks for each chain, and four times as many checks for all chains
    /// together.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            general: PermitPool::new(capacity),
            chains: Arc::default(),
            checks: PermitPool::new(capacity.saturating_mul(CHAINS_AT_ONCE)),
        }
    }

    /// Returns a permit for a request without a valid key; `None` if half of all permits are in use.
    #[must_use]
    pub fn acquire_unauthenticated(&self) -> Option<Permit> {
        let general = &self.general;
        let mut taken = general.lock();
        if taken.all.in_flight >= general.capacity.div_ceil(2) {
            return None;
        }
        taken.all.add(Class::Unauthenticated);
        Some(Permit { pool: Arc::clone(general), tenant: None, class: Class::Unauthenticated })
    }

    /// Returns a permit for a request of a tenant.
    ///
    /// # Errors
    ///
    /// Returns the reason for which no permit is free for the tenant.
    pub fn acquire(&self, bounds: &TenantBounds, class: Class) -> Result<Permit, ShedReason> {
        self.general.acquire(bounds, class)
    }

    /// Returns the permits of a chain.
    fn pool_of(&self, chain: ChainId) -> Arc<PermitPool> {
        // Every change is a single step, so that the state after a panic is consistent.
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = chains.entry(chain).or_insert_with(|| PermitPool::new(self.general.capacity));
        Arc::clone(pool)
    }
}

/// Permit of a request of a tenant, released when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct TenantPermit(Arc<TenantPermitState>);

#[derive(Debug)]
struct TenantPermitState {
    load: Load,
    bounds: TenantBounds,
    class: Class,
    /// The permit of requests without a chain, or the permits of a chain and of all chains.
    permits: Mutex<[Option<Permit>; 2]>,
}

impl TenantPermit {
    /// Takes a permit of requests without a chain.
    ///
    /// # Errors
    ///
    /// Returns the reason for which no permit is free for the tenant.
    pub fn take(load: &Load, bounds: TenantBounds, class: Class) -> Result<Self, ShedReason> {
        let permits = Mutex::new([Some(load.acquire(&bounds, class)?), None]);
        Ok(Self(Arc::new(TenantPermitState { load: load.clone(), bounds, class, permits })))
    }

    /// Takes a permit of a chain, and returns the permit of requests without a chain.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the chain has no free permit. If the chain has no free permit, the permit of
    /// requests without a chain is held until the request ends.
    pub fn move_to(&self, chain: ChainId) -> Result<(), ShedReason> {
        let permits = self.acquire_for(chain)?;
        *self.0.permits.lock().unwrap_or_else(PoisonError::into_inner) = permits.map(Some);
        Ok(())
    }

    /// Returns permits of a chain, beside the permit of requests without a chain: for one of several checks of a
    /// request.
    ///
    /// # Errors
    ///
    /// Returns the reason for which the chain has no free permit.
    pub fn acquire_for(&self, chain: ChainId) -> Result<[Permit; 2], ShedReason> {
        let TenantPermitState { load, bounds, class, .. } = &*self.0;
        let of_chain = load.pool_of(chain).acquire(bounds, *class)?;
        // The bounds of a plan are for each chain.
        let sharing = TenantBounds { max_in_flight: None, max_streams: None, ..bounds.clone() };
        let of_all = load.checks.acquire(&sharing, *class)?;
        Ok([of_chain, of_all])
    }
}

impl PermitPool {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, taken: Mutex::default() })
    }

    fn acquire(
        self: &Arc<Self>,
        bounds: &TenantBounds,
        class: Class,
    ) -> Result<Permit, ShedReason> {
        let mut taken = self.lock();
        let PermitCounts { all, tenants } = &mut *taken;
        if tenants.len() > MOST_IDLE + 2 * all.in_flight {
            tenants.retain(|_, own| own.in_flight > 0);
        }
        let own = tenants.entry(bounds.tenant.clone()).or_default();
        let free = self.capacity.saturating_sub(all.in_flight);
        if free == 0 {
            return Err(ShedReason::Server);
        }
        if own.in_flight >= (SHARE * free).min(bounds.max_in_flight.unwrap_or(usize::MAX)) {
            return Err(ShedReason::Tenant);
        }
        if class == Class::Bulk {
            let free = (self.capacity * 3).div_ceil(4).saturating_sub(all.streams);
            if free == 0 {
                return Err(ShedReason::Server);
            }
            if own.streams >= (SHARE * free).min(bounds.max_streams.unwrap_or(usize::MAX)) {
                return Err(ShedReason::Tenant);
            }
        }
        all.add(class);
        own.add(class);
        let tenant = Some(bounds.tenant.clone());
        Ok(Permit { pool: Arc::clone(self), tenant, class })
    }

    fn lock(&self) -> MutexGuard<'_, PermitCounts> {
        // Every change is a single step, so that the state after a panic is consistent.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit of one request in flight, released on drop.
#[derive(Debug)]
pub struct Permit {
    pool: Arc<PermitPool>,
    tenant: Option<Name>,
    class: Class,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.pool.lock();
        taken.all.remove(self.class);
        let Some(tenant) = &self.tenant else { return };
        if let Some(own) = taken.tenants.get_mut(tenant) {
            own.remove(self.class);
        }
    }
}

/// Returns the problem of a request without a permit. `chain`: the chain that has no free permit.
pub fn refused(shed: ShedReason, chain: Option<ChainId>) -> Problem {
    let requests =
        chain.map_or_else(|| "requests".to_owned(), |chain| format!("checks on {chain}"));
    let problem = match shed {
        ShedReason::Server => Problem::new(
            Code::Overloaded,
            format!("too many {requests} are in flight on this server; try again in one second"),
        ),
        ShedReason::Tenant => Problem::new(
            Code::TooManyInFlight,
            format!(
                "too many {requests} of the tenant are in flight on this server; wait for the responses to some \
                 of them, or try again in one second"
            ),
        ),
    };
    problem.header(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(tenant: &str) -> TenantBounds {
        TenantBounds { tenant: tenant.parse().unwrap(), max_in_flight: None, max_streams: None }
    }

    /// Takes permits until no permit is free; returns the number taken, and the reason of the refusal.
    fn fill(
        load: &Load,
        bounds: &TenantBounds,
        class: Class,
        held: &mut Vec<Permit>,
    ) -> (usize, ShedReason) {
        let before = held.len();
        loop {
            match load.acquire(bounds, class) {
                Ok(permit) => held.push(permit),
                Err(shed) => return (held.len() - before, shed),
            }
        }
    }

    #[test]
    fn one_tenant_alone_has_three_quarters_and_leaves_room_for_others() {
        let (load, mut held) = (Load::new(1024), Vec::new());
        let mut take = |tenant: &str| fill(&load, &bounds(tenant), Class::Single, &mut held);
        assert_eq!(take("a"), (768, ShedReason::Tenant));
        assert_eq!(take("b"), (192, ShedReason::Tenant));
        assert_eq!(take("c"), (48, ShedReason::Tenant));
        assert_eq!(take("a"), (0, ShedReason::Tenant));
    }

    #[test]
    fn streams_of_one_tenant_leave_room_for_streams_of_others() {
        let (load, mut held) = (Load::new(1024), Vec::new());
        let mut take = |tenant: &str, class| fill(&load, &bounds(tenant), class, &mut held).0;
        assert_eq!(take("a", Class::Bulk), 576);
        assert_eq!(take("b", Class::Bulk), 144);
        assert!(take("b", Class::Single) > 100, "checks have permits of their own");
    }

    #[test]
    fn a_plan_bounds_the_requests_and_the_streams_of_each_of_its_tenants() {
        let (load, mut held) = (Load::new(64), Vec::new());
        let bounded = |tenant: &str| TenantBounds {
            max_in_flight: Some(5),
            max_streams: Some(2),
            ..bounds(tenant)
        };
        for tenant in ["a", "b"] {
            let bounds = bounded(tenant);
            assert_eq!(fill(&load, &bounds, Class::Bulk, &mut held), (2, ShedReason::Tenant));
            assert_eq!(fill(&load, &bounds, Class::Single, &mut held), (3, ShedReason::Tenant));
        }
        held.truncate(4);
        assert!(load.acquire(&bounded("a"), Class::Single).is_ok(), "permits are released");
    }

    #[test]
    fn unauthenticated_requests_are_shed_first_then_those_of_tenants() {
        let (load, mut held) = (Load::new(8), Vec::new());
        while let Some(permit) = load.acquire_unauthenticated() {
            held.push(permit);
        }
        assert_eq!(held.len(), 4);
        for tenant in ["a", "b", "c", "d"] {
            fill(&load, &bounds(tenant), Class::Single, &mut held);
        }
        assert_eq!(held.len(), 8);
        assert_eq!(load.acquire(&bounds("e"), Class::Single).unwrap_err(), ShedReason::Server);
        held.truncate(3);
        assert!(load.acquire_unauthenticated().is_some(), "permits are released");
    }

    #[test]
    fn checks_that_wait_for_a_chain_leave_the_places_of_other_chains_to_the_same_tenant() {
        let load = Load::new(16);
        let permit = || TenantPermit::take(&load, bounds("a"), Class::Single).unwrap();
        // Given as many checks as one chain has permits for the tenant,
        let mut held = Vec::new();
        let shed = loop {
            let permit = permit();
            match permit.move_to(ChainId::BTC) {
                Ok(()) => held.push(permit),
                Err(shed) => break shed,
            }
        };
        assert_eq!((held.len(), shed), (12, ShedReason::Tenant));
        // then another chain has as many permits, and so have requests of no chain.
        let others: Vec<TenantPermit> = (0..12).map(|_| permit()).collect();
        assert!(others.iter().all(|other| other.move_to(ChainId::ETH).is_ok()));
        assert_eq!(fill(&load, &bounds("a"), Class::Single, &mut Vec::new()).0, 12);
        // A check that ends returns the permit of its chain.
        held.pop();
        assert!(permit().move_to(ChainId::BTC).is_ok());
    }

    #[test]
    fn checks_of_all_chains_together_are_bounded() {
        let load = Load::new(16);
        // Given many tenants and all chains,
        let mut held = Vec::new();
        for chain in ChainId::all() {
            for tenant in 0..20 {
                let bounds = bounds(&format!("t{tenant}"));
                let permit = TenantPermit::take(&load, bounds, Class::Single).unwrap();
                if permit.move_to(chain).is_ok() {
                    held.push(permit);
                }
            }
        }
        // then checks hold at most four times the permits of one chain.
        assert_eq!(held.len(), 64);
        // The permits of other requests are free.
        assert_eq!(fill(&load, &bounds("a"), Class::Single, &mut Vec::new()).0, 12);
    }

    #[test]
    fn a_capacity_of_one_is_open_to_everybody() {
        let load = Load::new(1);
        let permit = load.acquire_unauthenticated();
        assert!(permit.is_some());
        assert_eq!(load.acquire(&bounds("a"), Class::Single).unwrap_err(), ShedReason::Server);
        drop(permit);
        assert!(load.acquire(&bounds("a"), Class::Bulk).is_ok());
    }
}
