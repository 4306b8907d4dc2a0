// Reading again, without hurry: many reasons to read, one reading.

const SETTLE = 60;

/** Gives a function that runs `read` a moment later, once, however often it is called meanwhile; never twice at the same time. */
export function soon(read, failed, wait = SETTLE) {
  let waiting = false;
  let reading = false;
  let again = false;

  return function ask() {
    if (waiting) return;
    if (reading) return void (again = true);
    waiting = true;
    setTimeout(async () => {
      waiting = false;
      reading = true;
      try {
        await read();
      } catch (problem) {
        failed(problem);
      }
      reading = false;
      if (!again) return;
      again = false;
      ask();
    }, wait);
  };
}
