# bash completion of tinderbox and its role links.

# Options of submit that have a value: what follows one is not run-example's NAME.
_tinderbox_valued="--master --deploy-mode --class --name --files --archives --conf -c --properties-file --driver-memory
  --driver-cores --executor-memory --executor-cores --total-executor-cores --num-executors --kill --status --jars --packages
  --exclude-packages --repositories --py-files --driver-java-options --driver-class-path --driver-library-path --principal
  --keytab --proxy-user --queue --remote"

# Words [from, to) are options and their values: the next one that is no option would be the first.
_tinderbox_only_options() {
  local i word
  for ((i = $1; i < $2; ++i)); do
    word=${COMP_WORDS[i]}
    [[ $word == -* ]] || return 1
    [[ " ${_tinderbox_valued//[$'\n ']/ } " != *" $word "* ]] || ((++i))
  done
}

_tinderbox_options() {
  local options="--help --properties-file --conf"
  case $1 in
    submit | run-example) options+=" --load-spark-defaults --supervise --dry-run --verbose --version $_tinderbox_valued" ;;
    master) options+=" --host --port --webui-port" ;;
    worker) options+=" --host --port --webui-port --cores --memory --work-dir" ;;
    driver) options+=" --class --elf" ;;
    executor)
      options+=" --driver-url --executor-id --hostname --bind-address --cores --app-id --worker-url --resourcesFile
        --resourceProfileId --podName --elf"
      ;;
    init) options+=" --directory --checksum --archive --receive --expect" ;;
    decommission) options="--help --pid --signal" ;;
    bench) options+=" --master --data --make-data --mb --seed" ;;
  esac
  echo "$options"
}

_tinderbox() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} role=${COMP_WORDS[0]##*/} first=1
  local roles="submit driver executor master worker init history decommission run-example version bench"
  local apps="wordcount pi sort pagerank"
  local measures="null_tasks_per_s one_task_job_ms shuffle_200x200_s wordcount_s startup_ms executor_idle_rss_mb"
  case $role in
    spark-submit) role=submit ;;
    tinderbox-*) role=${role#tinderbox-} ;;
    *)
      if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$roles --help --version" -- "$cur")
        return
      fi
      role=${COMP_WORDS[1]##*.}
      first=2
      ;;
  esac
  # What spark-class is given: a class of Spark's.
  case $role in
    SparkSubmit) role=submit ;;
    Master) role=master ;;
    Worker) role=worker ;;
    CoarseGrainedExecutorBackend | KubernetesExecutorBackend) role=executor ;;
  esac
  case $prev in
    --master) mapfile -t COMPREPLY < <(compgen -W "local local[2] local[*] local-cluster[2,1,1024] spark://" -- "$cur"); return ;;
    --deploy-mode) mapfile -t COMPREPLY < <(compgen -W "client cluster" -- "$cur"); return ;;
    --class) mapfile -t COMPREPLY < <(compgen -W "$apps" -- "$cur"); return ;;
    --properties-file | --files | --archives | --archive | --jars | --data | --make-data | --elf | --resourcesFile | --directory | --work-dir)
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_tinderbox_options "$role")" -- "$cur")
  elif [ "$role" = bench ]; then
    mapfile -t COMPREPLY < <(compgen -W "$measures" -- "$cur")
  elif [ "$role" = run-example ] && _tinderbox_only_options "$first" "$COMP_CWORD"; then
    mapfile -t COMPREPLY < <(compgen -W "$apps" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -o filenames -F _tinderbox tinderbox spark-{submit,class} tinderbox-{submit,driver,executor,master,worker,init,history}
