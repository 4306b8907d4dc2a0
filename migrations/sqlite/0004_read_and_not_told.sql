-- What a turn has read of a result that it did not get to tell is no mark any more: releasing a claim takes it back from now on.
UPDATE processes SET consumed = NULL
    WHERE consumed IN ('waited', 'read_to_end')
    AND id IN (SELECT process FROM notifications
               WHERE state IN ('pending', 'held')
               AND reason IN ('turn_failed', 'turn_interrupted', 'turn_cancelled', 'turn_stopped'));
