//! What happens now and then: the cache is changed, by whomever; resets, sleep, shutdowns and failures.

use nvme::{Access, AdminCommand, Select};
use sim::pcie::Fault;

use crate::checker::BLOCKS;
use crate::history::{History, Stop};
use crate::meddler::{SET_FEATURES, WRITE_CACHE};

impl History {
    pub(crate) fn settled_everywhere(&mut self) {
        self.spaces.iter_mut().for_each(|space| space.account.settled());
    }

    pub(crate) fn set_write_cache(&mut self) -> Result<(), Stop> {
        let (on, save) = (self.random.one_in(2), self.saveable && self.random.one_in(4));
        self.say(|| format!("cache {on} saved {save}"));
        let result = self.driver().set_write_cache(on, save);
        let well = self.answered("cache", result)?.is_ok();
        self.blind = false;
        if well && !on {
            self.spaces.iter_mut().for_each(|space| space.account.promise_all());
        }
        // Writes that ended meanwhile were awaited, and are durable too.
        if on || !well { Ok(()) } else { self.poll() }
    }

    pub(crate) fn set_features_raw(&mut self) -> Result<(), Stop> {
        let on = self.random.below(2) as u32;
        self.say(|| format!("raw cache {on}"));
        let command = AdminCommand { opcode: SET_FEATURES, namespace: 0, dwords: [WRITE_CACHE, on, 0, 0, 0, 0] };
        self.rig.wire().raw = true;
        let result = self.driver().pass_through(command, &mut []);
        self.rig.wire().raw = false;
        self.answered("raw", result)?.map(|_| self.blind = false).ok();
        Ok(())
    }

    pub(crate) fn other_host(&mut self) -> Result<(), Stop> {
        let on = self.random.one_in(2);
        self.say(|| format!("other host: cache {on}"));
        self.rig.board.change_write_cache(on);
        self.blind = on;
        Ok(())
    }

    pub(crate) fn read_feature(&mut self) -> Result<(), Stop> {
        self.say(|| "feature".into());
        let result = self.driver().feature(WRITE_CACHE as u8, 0, Select::Current);
        self.answered("feature", result)?.map(|_| self.blind = false).ok();
        Ok(())
    }

    pub(crate) fn reset(&mut self) -> Result<(), Stop> {
        // With tags to spare, what was deferred is flushed before.
        let idle = self.random.one_in(2);
        while idle && self.driver().in_flight() > 0 {
            let end = self.driver().wait();
            self.take(end)?;
        }
        self.say(|| format!("reset, idle {idle}"));
        let result = self.driver().reset();
        if self.answered("reset", result)?.is_err() {
            return Err(Stop::Unplanned("the reset failed".into()));
        }
        self.blind = false;
        // A flush that fails does not hold a reset up: it stays due.
        if idle && !self.faulty {
            self.settled_everywhere();
        }
        self.poll()
    }

    pub(crate) fn suspend(&mut self) -> Result<(), Stop> {
        self.say(|| "suspend".into());
        self.rig.wire().suspending = true;
        let result = self.driver().quiesce();
        self.rig.wire().suspending = false;
        if self.answered("suspend", result)?.is_ok() {
            self.settled_everywhere();
        }
        if self.random.one_in(2) {
            // The battery goes empty while the machine sleeps.
            return Err(Stop::Cut);
        }
        Ok(())
    }

    pub(crate) fn read_only_for_a_moment(&mut self) -> Result<(), Stop> {
        let at = self.any_space();
        let id = self.spaces[at].id;
        self.say(|| format!("read-only {id}"));
        let result = self.driver().set_access(id, Access::ReadOnly);
        if self.answered("read-only", result)?.is_ok() {
            self.spaces[at].account.settled();
        }
        let all = Access::ReadWrite { first: 0, blocks: BLOCKS as u64 };
        let result = self.driver().set_access(id, all);
        self.answered("read-write", result).map(|_| ())
    }

    pub(crate) fn shut_down(&mut self) -> Result<(), Stop> {
        self.say(|| "shutdown".into());
        let result = self.driver.take().expect("it is up").shutdown().map_err(|failure| failure.error);
        if self.answered("shutdown", result)?.is_err() && !self.faulty {
            return Err(Stop::Unplanned("the shutdown failed".into()));
        }
        // The controller's own shutdown makes its cache durable.
        for space in &mut self.spaces {
            space.account.promise_all();
            space.busy = 0;
        }
        self.flights.clear();
        self.bring_up()
    }

    pub(crate) fn fail_next_flush(&mut self) -> Result<(), Stop> {
        if self.faulty {
            self.say(|| "the next flush fails".into());
            let next = self.rig.board.flushes();
            self.rig.board.add_fault(Fault::FlushFails(next));
        }
        Ok(())
    }
}
