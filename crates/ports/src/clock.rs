//! Time and fresh ids.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use homing_domain::ids;
use homing_domain::time::Timestamp;

/// Where timers get their time from. A test's clock can be moved; the real one cannot.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    /// Returns once `now()` has reached `deadline`. Cancel-safe.
    async fn sleep_until(&self, deadline: Timestamp);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Timestamp(since.as_millis() as i64)
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        loop {
            let left = deadline.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Makes ids that grow. Unique within a gateway by construction; between gateways by 22 random bits a millisecond and the store's primary keys.
#[derive(Debug, Clone)]
pub struct IdSource {
    clock: Arc<dyn Clock>,
    last: Arc<AtomicU64>,
}

impl IdSource {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Ids made from now on are greater than `number`, even if the clock was set back since that was made. A store says what its newest is.
    pub fn continue_after(&self, number: u64) {
        self.last.fetch_max(number, Ordering::AcqRel);
    }

    /// A fresh number; wrap it with an id type's `from_number`, or call [`IdSource::next`].
    pub fn number(&self) -> u64 {
        // Without randomness from the system an id still is unique here, by the counter below.
        let salt = getrandom::u64().unwrap_or(0);
        let candidate = ids::compose(self.clock.now().millis(), salt);
        let fresh = |last: u64| candidate.max(last + 1);
        match self
            .last
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
                Some(fresh(last))
            }) {
            Ok(last) | Err(last) => fresh(last),
        }
    }

    pub fn next<T: FreshId>(&self) -> T {
        T::from_fresh(self.number())
    }
}

/// An id type that can be made from a fresh number.
pub trait FreshId {
    fn from_fresh(number: u64) -> Self;
}

macro_rules! fresh {
    ($($name:ident)*) => {$(
        impl FreshId for ids::$name {
            fn from_fresh(number: u64) -> Self { Self::from_number(number) }
        }
    )*};
}
fresh! { ConversationId SessionId LineageId TurnId MessageId InboundId OutboxId ProcessId DelegationId NotificationId WindowId ApprovalId }
