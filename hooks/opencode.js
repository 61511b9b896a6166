// Written by `git oracle hooks install --agent opencode`, removed by `git oracle hooks uninstall --agent opencode`.
// Starts `git oracle hook agent` around each tool call; what it refuses is thrown, so the call does not run.
import { spawnSync } from "node:child_process"

export const GitOracle = async ({ directory, worktree }) => {
  const ask = (event, tool, args) => {
    const input = JSON.stringify({ hook_event_name: event, tool, args, directory, worktree })
    const ran = spawnSync("git", ["oracle", "hook", "agent", "--for", "opencode"], {
      cwd: directory,
      input,
      encoding: "utf8",
      timeout: 30000,
    })
    if (ran.status !== 0) {
      throw new Error(ran.stderr || `git oracle did not answer: ${ran.error ?? ran.signal ?? ran.status}`)
    }
    return ran.stdout ? JSON.parse(ran.stdout).reason : ""
  }
  return {
    "tool.execute.before": async (input, output) => {
      ask("tool.execute.before", input.tool, output.args)
    },
    "tool.execute.after": async (input, output) => {
      const reason = ask("tool.execute.after", input.tool, input.args ?? {})
      if (reason && typeof output?.output === "string") {
        output.output += `\n\n${reason}`
      } else if (reason) {
        throw new Error(reason)
      }
    },
  }
}
