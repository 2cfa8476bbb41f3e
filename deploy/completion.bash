# bash completion of tinderbox and its role links.
_tinderbox() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} role=${COMP_WORDS[0]##*/} first=1
  local roles="submit driver executor master worker init history run-example version bench"
  local apps="wordcount pi sort pagerank"
  case $role in
    spark-submit) role=submit ;;
    tinderbox-*) role=${role#tinderbox-} ;;
    *)
      if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$roles --help --version" -- "$cur")
        return
      fi
      role=${COMP_WORDS[1]}
      first=2
      ;;
  esac
  case $prev in
    --master) mapfile -t COMPREPLY < <(compgen -W "local local[2] local[*] local-cluster[2,1,1024] spark://" -- "$cur"); return ;;
    --deploy-mode) mapfile -t COMPREPLY < <(compgen -W "client cluster" -- "$cur"); return ;;
    --properties-file | --files | --archives | --jars | --data | -d | --work-dir)
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
  esac
  local options="--help --properties-file --conf"
  case $role in
    submit | run-example)
      options+=" --master --deploy-mode --class --name --files --archives --driver-memory --driver-cores
        --executor-memory --executor-cores --total-executor-cores --num-executors --supervise --kill --status
        --verbose --version"
      ;;
    master) options+=" --host --port --webui-port" ;;
    worker) options+=" --host --port --webui-port --cores --memory --work-dir" ;;
    driver) options+=" --class" ;;
    executor) options+=" --driver-url --executor-id --hostname --bind-address --cores --app-id --worker-url" ;;
    bench) options="--help --master --data --make-data --mb" ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ $role == run-example && $COMP_CWORD == "$first" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$apps" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -o filenames -F _tinderbox tinderbox spark-submit tinderbox-{submit,driver,executor,master,worker,init,history}
